// Over axes: sums, extremes, norms, places, running sums.
#include <limits>

#include "tests/foreign/onnx/cases.h"

namespace plimsoll::onnx {
namespace {

// f(x, axes, keep). Axes are an attribute in old versions and an input in new ones; without any,
// all are meant, unless the node says that none is.
template <class F>
Op reduce_any(F f) {
  return [f](const OpCall& c) {
    const Keep keep = c.node.flag("keepdims", true) ? Keep::ones : Keep::none;
    const bool none = c.node.flag("noop_with_empty_axes");
    Shape axes = shape_of(c.integers_of("axes", 1).value_or(std::vector<int64_t>{}));
    if (axes.rank() == 0 && !none)
      for (int i = 0; i < c[0].rank(); ++i) axes.push_back(i);
    return std::vector{cast(f(c[0], axes, keep), c[0].dtype())};
  };
}

// The same for an f of floating tensors.
template <class F>
Op reduce(F f) {
  return reduce_any([f](const Tensor& x, const Shape& axes, Keep keep) {
    return in_floating(x, [&](const Tensor& wide) { return f(wide, axes, keep); });
  });
}

// The engine refuses extremes over nothing; here they are the least or largest value of the type.
std::optional<Shape> shape_over_nothing(const Tensor& x, const Shape& axes, Keep keep) {
  std::vector<bool> gone(static_cast<size_t>(x.rank()));
  bool nothing = false;
  for (const int64_t axis : axes) {
    gone[normal_axis("reduce", axis, x.rank())] = true;
    nothing |= x.size(static_cast<int>(axis)) == 0;
  }
  if (!nothing) return std::nullopt;
  Shape shape;
  for (int i = 0; i < x.rank(); ++i)
    if (!gone[i])
      shape.push_back(x.size(i));
    else if (keep == Keep::ones)
      shape.push_back(1);
  return shape;
}

template <class F>
Op extreme(F f, double sign) {
  return reduce_any([=](const Tensor& x, const Shape& axes, Keep keep) {
    const auto nothing = shape_over_nothing(x, axes, keep);
    if (!nothing) return f(x, axes, keep);
    const double limit = x.dtype() == DType::boolean
                             ? 0.5 * (sign + 1)
                             : sign * std::numeric_limits<double>::infinity();
    return full(*nothing, limit, {.dtype = x.dtype()});
  });
}

template <class F>
Op place(F f) {
  return [f](const OpCall& c) {
    const int64_t axis = c.node.integer("axis", 0);
    const Keep keep = c.node.flag("keepdims", true) ? Keep::ones : Keep::none;
    const bool last = c.node.flag("select_last_index");
    const Tensor x = last ? flip(c[0], {axis}) : c[0];
    const Tensor y = f(x, axis, keep);
    if (!last) return std::vector{y};
    const auto highest = static_cast<double>(x.size(static_cast<int>(axis)) - 1);
    return std::vector{full({}, highest, {.dtype = DType::i64}) - y};
  };
}

std::vector<Tensor> highest(const OpCall& c) {
  c.node.flag("sorted", true);  // always
  const Order order = c.node.flag("largest", true) ? Order::largest : Order::smallest;
  const int64_t k = c.has(1) ? c.integers(1).at(0) : c.node.integer("k", 1);
  const TopK top = top_k(c[0], k, c.node.integer("axis", -1), order);
  return {top.values, top.indices};
}

std::vector<Tensor> running_sum(const OpCall& c) {
  const CumsumOptions options{c.node.flag("exclusive"), c.node.flag("reverse")};
  return {cast(cumsum(c[0], c.integer(1, 0), options), c[0].dtype())};
}

}  // namespace

Ops reduction_ops() {
  using T = const Tensor&;
  using S = const Shape&;
  return {
      {"ReduceSum", reduce_any([](T x, S axes, Keep k) { return sum(x, axes, k); })},
      {"ReduceMean", reduce([](T x, S axes, Keep k) { return mean(x, axes, k); })},
      {"ReduceSumSquare", reduce([](T x, S axes, Keep k) { return sum(square(x), axes, k); })},
      {"ReduceL1", reduce([](T x, S axes, Keep k) { return norm(x, 1, axes, k); })},
      {"ReduceL2", reduce([](T x, S axes, Keep k) { return norm(x, 2, axes, k); })},
      {"ReduceLogSum", reduce([](T x, S axes, Keep k) { return log(sum(x, axes, k)); })},
      {"ReduceLogSumExp", reduce([](T x, S axes, Keep k) { return logsumexp(x, axes, k); })},
      {"ReduceProd", reduce([](T x, S axes, Keep k) { return prod(x, axes, k); })},
      {"ReduceMax", extreme(amax, -1)},
      {"ReduceMin", extreme(amin, 1)},
      {"ArgMax", place(argmax)},
      {"ArgMin", place(argmin)},
      {"CumSum", running_sum},
      {"TopK", highest},
  };
}

}  // namespace plimsoll::onnx
