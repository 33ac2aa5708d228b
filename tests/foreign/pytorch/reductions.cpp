// Over axes: sums, extremes, norms, places, running sums, softmax.
#include <limits>

#include "tests/foreign/pytorch/pytorch.h"

namespace plimsoll::golden {
namespace {

using T = const Tensor&;
using S = const Shape&;
constexpr auto kX = "x|input|self|a";
constexpr double kInf = std::numeric_limits<double>::infinity();

template <class F>
Run reduce(F f) {
  return [f](Case& c) {
    const Tensor x = c[kX];
    const Shape axes = c.axes(x.rank());
    return one(f(x, axes, c.keep(x.rank())));
  };
}

// A bool is PyTorch's `unbiased`.
VarianceOptions correction(Case& c) {
  if (c.has("unbiased")) return {c.flag("unbiased", true) ? 1. : 0.};
  return {c.number("correction|ddof", {1, 0, 2})};
}

template <class F>
Run spread(F f) {
  return [f](Case& c) {
    const Tensor x = c[kX];
    const Shape axes = c.axes(x.rank());
    const Keep keep = c.keep(x.rank());
    Results y{f(x, axes, keep, correction(c))};
    if (c.results() > 1) y.push_back(mean(x, axes, keep));  // var_mean, std_mean
    return y;
  };
}

Results norms(Case& c, const std::vector<double>& orders) {
  const Tensor x = c[kX];
  double p = 2;
  if (!c.has("p|ord") || c.text("p|ord", {}) != "fro") p = c.number("p|ord", orders);
  const Shape axes = c.axes(x.rank());
  return one(norm(x, p, axes, c.keep(x.rank())));
}

Results normalized(Case& c) {
  const Tensor x = c[kX];
  const double p = c.number("p", {2, 1, kInf});
  const Tensor length = norm(x, p, {c.integer("dim", {1, -1, 0})}, Keep::ones);
  return one(x / maximum(length, full({}, c.number("eps", {1e-12}), {.dtype = x.dtype()})));
}

// The place of the extreme; over all elements without an axis.
Tensor place(Case& c, T x, Tensor (*f)(T, int64_t, Keep), int64_t axis, Keep keep) {
  const Tensor y = f(x, axis, keep);
  return reshape(y, c.results() > 1 ? c.result(1).shape() : c.result().shape());
}

template <Tensor (*f)(T, int64_t, Keep)>
Results places(Case& c) {
  const Tensor x = c[kX];
  const Keep keep = c.keep(x.rank());
  if (!c.has("dim|axis") && c.result().count() == 1 && c.any<int>({1, 0}))
    return one(place(c, reshape(x, {-1}), f, 0, keep));
  return one(place(c, x, f, c.axis(x.rank()), keep));
}

// torch.max of one tensor: over one axis the gradient is that of the first element that is as
// large, over all it is shared, as amax's is. Of two tensors it is maximum.
template <Tensor (*both)(T, T), Tensor (*over)(T, S, Keep), Tensor (*at)(T, int64_t, Keep)>
Results extreme(Case& c, Order order) {
  const Tensor x = c[kX];
  if (c.given("b|y|other")) return one(both(x, c["b|y|other"]));
  const Keep keep = c.keep(x.rank());
  if (c.results() > 1 || c.any<int>({0, 1})) {
    const int64_t axis = c.axis(x.rank());
    const Tensor values = reshape(top_k(x, 1, axis, order).values, c.result().shape());
    return {values, c.results() > 1 ? place(c, x, at, axis, keep) : Tensor()};
  }
  return one(over(x, c.axes(x.rank()), keep));
}

Results running_sum(Case& c) {
  const Tensor x = c[kX];
  const int64_t axis = c.axis(x.rank());
  const bool reverse = c.flag("reverse", false), exclusive = c.flag("exclusive", false);
  return one(cumsum(x, axis, {.exclusive = exclusive, .reverse = reverse}));
}

Results highest(Case& c) {
  const Tensor x = c[kX];
  const int64_t axis = c.axis(x.rank());
  const bool largest = c.flag("largest", true);
  c.known("sorted");
  const TopK top = top_k(
      x, c.integer("k", {c.result().size(static_cast<int>(normal_axis("topk", axis, x.rank())))}),
      axis, largest ? Order::largest : Order::smallest);
  return {top.values, top.indices};
}

Results sorted(Case& c) {
  const Tensor x = c[kX];
  const int64_t axis = c.axis(x.rank());
  c.known("stable");
  const TopK top = top_k(x, x.size(static_cast<int>(normal_axis("sort", axis, x.rank()))), axis,
                         c.flag("descending", false) ? Order::largest : Order::smallest);
  return {top.values, top.indices};
}

template <class F>
Run along(F f) {
  return [f](Case& c) {
    const Tensor x = c[kX];
    return one(f(x, c.axis(x.rank())));
  };
}

}  // namespace

Table reduction_table() {
  const auto norm_of = [](double p) { return [p](Case& c) { return norms(c, {p}); }; };
  const Run maxima = [](Case& c) { return extreme<maximum, amax, argmax>(c, Order::largest); };
  const Run minima = [](Case& c) { return extreme<minimum, amin, argmin>(c, Order::smallest); };
  return {
      {"sum", reduce([](T x, S axes, Keep k) { return sum(x, axes, k); })},
      {"mean", reduce([](T x, S axes, Keep k) { return mean(x, axes, k); })},
      {"amax", reduce(amax)},
      {"amin", reduce(amin)},
      {"prod", reduce([](T x, S axes, Keep k) { return prod(x, axes, k); })},
      {"logsumexp", reduce(logsumexp)},
      {"var", spread(variance)},
      {"variance", spread(variance)},
      {"var_mean", spread(variance)},
      {"std", spread(stddev)},
      {"stddev", spread(stddev)},
      {"std_mean", spread(stddev)},
      {"norm",
       [](Case& c) {
         return norms(c, {2, 1, kInf, 3, -kInf, 1.5});
       }},
      {"vector_norm",
       [](Case& c) {
         return norms(c, {2, 1, kInf, 3, -kInf, 1.5});
       }},
      {"norm_l1", norm_of(1)},
      {"norm_l2", norm_of(2)},
      {"norm_inf", norm_of(kInf)},
      {"l1_norm", norm_of(1)},
      {"l2_norm", norm_of(2)},
      {"inf_norm", norm_of(kInf)},
      {"normalize", normalized},
      {"l2_normalize", normalized},
      {"max", maxima},
      {"min", minima},
      {"max_reduce", maxima},
      {"min_reduce", minima},
      {"argmax", places<argmax>},
      {"argmin", places<argmin>},
      {"cumsum", running_sum},
      {"topk", highest},
      {"sort", sorted},
      {"softmax", along([](T x, int64_t axis) { return softmax(x, axis); })},
      {"log_softmax", along([](T x, int64_t axis) { return log_softmax(x, axis); })},
      {"softmin", along([](T x, int64_t axis) { return softmax(-x, axis); })},
  };
}

}  // namespace plimsoll::golden
