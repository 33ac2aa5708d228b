#include "ops/reduction/sum/sum.h"

#include <numeric>

#include "ops/pointwise/copy/copy.h"
#include "ops/random/full/full.h"
#include "ops/shape/view/view.h"
#include "tests/support/reduce_reference.h"

namespace plimsoll {
namespace {

Array summed(const Array& x, const Shape& axes, Keep keep) {
  return reduce_groups(x, axes, keep, [](const auto& group) {
    return std::accumulate(group.begin(), group.end(), 0.0);
  });
}

OpCase sums(const char* name, InputSpec input, Shape axes, Keep keep = Keep::none) {
  return {.name = name,
          .inputs = {input},
          .call = [=](auto in) { return std::vector{sum(in[0], axes, keep)}; },
          .reference =
              [=](const std::vector<Array>& in) { return std::vector{summed(in[0], axes, keep)}; }};
}

// Each 0 or 1, summed in i64: u8 and bool would not hold the sums.
OpCase of_integers(const char* name, Shape shape, DType dtype, Shape axes, Keep keep = Keep::none) {
  OpCase c = sums(name, index(shape, 2), axes, keep);
  c.call = [=](auto in) { return std::vector{sum(cast(in[0], dtype), axes, keep)}; };
  c.differentiable = false;
  c.dtypes = {DType::f32};  // the inputs are integers anyway
  return c;
}

OpCase means(const char* name, InputSpec input, Shape axes, Keep keep = Keep::none) {
  OpCase c = sums(name, input, axes, keep);
  c.call = [=](auto in) { return std::vector{mean(in[0], axes, keep)}; };
  c.reference = [=](const std::vector<Array>& in) {
    Array y = summed(in[0], axes, keep);
    const double n =
        static_cast<double>(in[0].values.size()) / static_cast<double>(y.values.size());
    for (double& v : y.values) v /= n;
    return std::vector{y};
  };
  return c;
}

OpCase sums_to(const char* name, Shape from, Shape to, Shape axes) {
  OpCase c = sums(name, real(from), axes);
  c.call = [=](auto in) { return std::vector{sum_to(in[0], to)}; };
  c.reference = [=](const std::vector<Array>& in) {
    Array y(to);
    y.values = summed(in[0], axes, Keep::none).values;
    return std::vector{y};
  };
  return c;
}

// Many pieces, all positive: errors would pile up if partial sums were kept in f32 or f16. Not
// differentiated: finite differences would visit every element.
OpCase big(const char* name, Shape shape, Shape axes) {
  OpCase c = sums(name, real(shape, 0, 0.5), axes);
  c.differentiable = false;
  return c;
}

}  // namespace

OpCases sum_cases() {
  const InputSpec cube = real({2, 3, 4}), box = real({2, 3, 2, 3});
  OpCases cases{
      .good = {sums("none", cube, {}),
               sums("axis0", cube, {0}),
               sums("axis1", cube, {1}),
               sums("axis2", cube, {2}),
               sums("axes01", cube, {0, 1}),
               sums("axes12", cube, {1, 2}),
               sums("axes02", cube, {0, 2}),
               sums("axes_unordered", cube, {2, 0}),
               sums("all", cube, {0, 1, 2}),
               sums("negative", cube, {-1, -3}),
               sums("keep0", cube, {0}, Keep::ones),
               sums("keep02", cube, {0, 2}, Keep::ones),
               sums("keep_all", cube, {0, 1, 2}, Keep::ones),
               sums("axes13_of_4", box, {1, 3}),
               sums("axes03_of_4", box, {0, 3}, Keep::ones),
               sums("axes023_of_4", box, {0, 2, 3}),
               of_integers("i64_rows", {7, 3001}, DType::i64, {1}),
               of_integers("i64_columns", {301, 5}, DType::i64, {0}, Keep::ones),
               of_integers("i32_apart", {3, 4, 5}, DType::i32, {0, 2}),
               of_integers("u8_all", {700}, DType::u8, {0}),
               of_integers("bool_middle", {2, 9, 3}, DType::boolean, {1}),
               of_integers("i32_none", {2, 3}, DType::i32, {}),
               of_integers("i64_nothing", {2, 0}, DType::i64, {1}),
               sums("scalar", real({}), {}),
               sums("size1", real({1, 3, 1}), {0, 2}),
               sums("of_nothing", real({3, 0}), {1}),
               sums("of_nothing_outer", real({0, 3}), {0}, Keep::ones),
               sums("all_of_nothing", real({0, 3}), {0, 1}),
               sums("to_nothing", real({0, 3}), {1}),
               means("mean", cube, {1}),
               means("mean_apart", cube, {0, 2}, Keep::ones),
               means("mean_all", cube, {0, 1, 2}),
               means("mean_to_nothing", real({0, 3}), {1}),
               means("mean_scalar", real({}), {}),
               sums_to("sum_to_bias", {2, 3, 4}, {4}, {0, 1}),
               sums_to("sum_to_ones", {2, 3, 4}, {2, 1, 4}, {1}),
               sums_to("sum_to_mixed", {2, 3, 4}, {3, 1}, {0, 2}),
               sums_to("sum_to_scalar", {2, 3}, {}, {0, 1}),
               sums_to("sum_to_itself", {2, 3}, {2, 3}, {}),
               sums_to("sum_to_of_nothing", {0, 3}, {1, 3}, {0}),
               big("big_all", {200003}, {0}),
               big("big_rows", {3, 70001}, {1}),
               big("big_columns", {40001, 5}, {0}),
               big("big_middle", {2, 20001, 3}, {1}),
               big("big_apart", {101, 7, 97}, {0, 2}),
               big("wide", {3, 2503}, {0}),
               big("wide_and_long", {700, 1030}, {0}),
               big("wide_middle", {2, 3, 1025}, {1}),
               big("many_short_rows", {3001, 16}, {1}),
               big("many_long_rows", {300, 1100}, {1})},
      .bad = {
          {"axis", [] { sum(ones({2, 3}), {2}); },
           "sum: the axis does not exist: axis 2 of a tensor with 2 axes. Count axes from 0, or "
           "from -1 backwards."},
          {"twice", [] { mean(ones({2, 3}), {1, -1}); },
           "mean: an axis is named twice: [1, -1] for shape [2, 3]. Name each axis once."},
          {"integers", [] { mean(ones({2}, {.dtype = DType::i64})); },
           "mean: a floating type is needed: got i64. Cast it first."},
          {"sum_to", [] { sum_to(ones({2, 3}), {2}); },
           "reshape: the number of elements differs: [3] to [2]. Keep the product of the "
           "sizes."}}};

  OpCase total = sums("total", cube, {0, 1, 2});
  total.call = [](auto in) { return std::vector{sum(in[0]), mean(in[0])}; };
  total.reference = [](const std::vector<Array>& in) {
    Array s = summed(in[0], {0, 1, 2}, Keep::none), m = s;
    m[0] /= 24;
    return std::vector{s, m};
  };
  cases.good.push_back(total);

  // The sum, 72,000, is beyond the largest f16.
  OpCase beyond = means("mean_of_sum_beyond_f16", real({3, 40000}, 1.75, 1.85), {1});
  beyond.differentiable = false;
  cases.good.push_back(beyond);

  // Nothing divided by nothing.
  OpCase nan = means("mean_of_nothing", real({2, 0}), {1});
  nan.reference = [](const std::vector<Array>&) {
    Array y({2});
    y.values = {std::nan(""), std::nan("")};
    return std::vector{y};
  };
  nan.differentiable = false;
  cases.good.push_back(nan);
  return cases;
}

}  // namespace plimsoll
