#include "ops/reduction/amax/amax.h"

#include <numeric>

#include "autograd/gradients.h"
#include "ops/pointwise/copy/copy.h"
#include "ops/random/full/full.h"
#include "tests/support/reduce_reference.h"

namespace plimsoll {
namespace {

const double kNan = std::nan(""), kInfinity = HUGE_VAL;

struct Largest {
  Array value, position;  // position: among the reduced elements, in row-major order
};

// Where the first of the largest is, or the first NaN.
size_t place_of_largest(const std::vector<double>& group) {
  size_t best = 0;
  for (size_t i = 1; i < group.size() && !std::isnan(group[best]); ++i)
    if (std::isnan(group[i]) || group[i] > group[best]) best = i;
  return best;
}

Largest largest(const Array& x, const Shape& axes, Keep keep) {
  return {reduce_groups(x, axes, keep,
                        [](const auto& group) { return group[place_of_largest(group)]; }),
          reduce_groups(x, axes, keep, [](const auto& group) {
            return static_cast<double>(place_of_largest(group));
          })};
}

OpCase maxima(const char* name, InputSpec input, Shape axes, Keep keep = Keep::none) {
  return {.name = name,
          .inputs = {input},
          .call = [=](auto in) { return std::vector{amax(in[0], axes, keep)}; },
          .reference =
              [=](const std::vector<Array>& in) {
                return std::vector{largest(in[0], axes, keep).value};
              },
          .differentiable = input.values.empty()};
}

OpCase positions(const char* name, InputSpec input, int64_t axis, Keep keep = Keep::none) {
  OpCase c = maxima(name, input, {axis}, keep);
  c.call = [=](auto in) { return std::vector{argmax(in[0], axis, keep)}; };
  c.reference = [=](const std::vector<Array>& in) {
    return std::vector{largest(in[0], {axis}, keep).position};
  };
  c.differentiable = false;
  return c;
}

// Minima are the maxima of -x.
OpCase minima(const char* name, InputSpec input, Shape axes, Keep keep = Keep::none) {
  OpCase c = maxima(name, input, axes, keep);
  c.call = [=](auto in) { return std::vector{amin(in[0], axes, keep)}; };
  c.reference = [=](std::vector<Array> in) {
    for (double& v : in[0].values) v = -v;
    Array y = largest(in[0], axes, keep).value;
    for (double& v : y.values) v = -v;
    return std::vector{y};
  };
  return c;
}

OpCase low_positions(const char* name, InputSpec input, int64_t axis, Keep keep = Keep::none) {
  OpCase c = positions(name, input, axis, keep);
  c.call = [=](auto in) { return std::vector{argmin(in[0], axis, keep)}; };
  c.reference = [=](std::vector<Array> in) {
    for (double& v : in[0].values) v = -v;
    return std::vector{largest(in[0], {axis}, keep).position};
  };
  return c;
}

// The gradient itself as output, for dy = 1: finite differences fail at a tie.
OpCase gradient(const char* name, InputSpec input, Shape axes, std::vector<double> expected) {
  OpCase c = maxima(name, input, axes);
  c.call = [axes](auto in) {
    const Tensor x = in[0].detach().require_grad();
    const Tensor y = amax(x, axes);
    return gradients(y, std::array{x}, {.seed = ones(y.shape(), {y.dtype(), y.device()})});
  };
  c.reference = [shape = input.shape, expected](const std::vector<Array>&) {
    Array dx(shape);
    dx.values = expected;
    return std::vector{dx};
  };
  return c;
}

// All four in a type that is not floating.
OpCase of_integers(const char* name, InputSpec input, DType dtype, int64_t axis) {
  const auto each = [=](const Tensor& x) {
    return std::vector{amax(x, {axis}), amin(x, {axis}), argmax(x, axis), argmin(x, axis)};
  };
  return {.name = name,
          .inputs = {input},
          .call = [=](auto in) { return each(cast(in[0], dtype)); },
          .reference =
              [=](const std::vector<Array>& in) {
                const Largest high = largest(in[0], {axis}, Keep::none);
                Array turned = in[0];
                for (double& v : turned.values) v = -v;
                Largest low = largest(turned, {axis}, Keep::none);
                for (double& v : low.value.values) v = -v;
                return std::vector{high.value, low.value, high.position, low.position};
              },
          .differentiable = false,
          .dtypes = {DType::f32}};  // the inputs are integers anyway
}

}  // namespace

OpCases amax_cases() {
  const InputSpec cube = real({2, 3, 4});
  const InputSpec odd = given({3, 4}, {1, kNan, 3, kNan, 2, 5, 5, -kInfinity, -kInfinity,
                                       -kInfinity, -kInfinity, -kInfinity});
  std::vector<double> nans(4 * 40);  // in a row's first vector, its second, its end; in none
  std::iota(nans.begin(), nans.end(), -50);
  for (const size_t at : {0, 40 + 17, 80 + 39}) nans[at] = kNan;
  const InputSpec ties = given({2, 4}, {3, 1, 3, 3, 0, -1, -2, 0});
  return {
      .good = {maxima("last", cube, {2}),
               maxima("first", cube, {0}),
               maxima("middle", cube, {1}),
               maxima("all", cube, {0, 1, 2}),
               maxima("apart", cube, {0, 2}, Keep::ones),
               maxima("keep", cube, {1}, Keep::ones),
               maxima("none", cube, {}),
               maxima("scalar", real({}), {}),
               maxima("size1", real({4, 1}), {1}),
               maxima("negative", real({5, 3}, -9, -8), {0}),
               maxima("long", real({3, 1003}), {1}),
               maxima("to_nothing", real({0, 3}), {1}),
               maxima("odd_rows", odd, {1}),
               maxima("odd_long_rows", given({4, 40}, nans), {1}),
               maxima("odd_columns", odd, {0}),
               gradient("ties", ties, {1}, {1. / 3, 0, 1. / 3, 1. / 3, .5, 0, 0, .5}),
               gradient("ties_columns", ties, {0}, {1, 1, 1, 1, 0, 0, 0, 0}),
               gradient("ties_all", given({2, 2}, {7, 7, 7, 7}), {0, 1}, {.25, .25, .25, .25}),
               gradient("ties_nan", given({3}, {kNan, 1, 1}), {0}, {kNan, kNan, kNan}),
               minima("amin_last", cube, {2}),
               minima("amin_first", cube, {0}),
               minima("amin_apart", cube, {0, 2}, Keep::ones),
               minima("amin_long", real({3, 1003}), {1}),
               minima("amin_odd_rows", odd, {1}),
               minima("amin_odd_long_rows", given({4, 40}, nans), {1}),
               minima("amin_odd_columns", odd, {0}),
               minima("amin_ties", given({2, 2}, {1, 1, 0, -0.0}), {1}),
               low_positions("argmin", cube, -1),
               low_positions("argmin_keep", cube, 1, Keep::ones),
               low_positions("argmin_ties", ties, 1),
               low_positions("argmin_odd_rows", odd, 1),
               positions("argmax", cube, -1),
               positions("argmax_first_axis", cube, 0),
               positions("argmax_keep", cube, 1, Keep::ones),
               positions("argmax_ties", ties, 1),
               positions("argmax_odd_rows", odd, 1),
               positions("argmax_odd_columns", odd, 0),
               positions("argmax_size1", real({4, 1}), 1),
               positions("argmax_to_nothing", real({0, 3}), 1),
               of_integers("i64_rows", index({3, 41}, 1e6), DType::i64, 1),
               of_integers("i64_columns", index({41, 3}, 1e6), DType::i64, 0),
               of_integers("i32", given_index({4}, {-2147483648.0, 7, 2147483647, 7}), DType::i32,
                           0),
               of_integers("u8", index({3, 5}, 256), DType::u8, 1),
               of_integers("bool", index({8, 3}, 2), DType::boolean, 1)},
      .bad = {
          {"empty",
           [] {
             amax(ones({3, 0}), {1});
           },
           "amax: there is no maximum over no elements: [3, 0]. Reduce over axes of size 1 or "
           "more."},
          {"argmax empty",
           [] {
             argmax(ones({0, 0}), 1);
           },
           "argmax: there is no maximum over no elements: [0, 0]. Reduce over an axis of size 1 "
           "or more."},
          {"amin of nothing",
           [] {
             amin(ones({2, 0}), {1});
           },
           "amin: there is no minimum over no elements: [2, 0]. Reduce over axes of size 1 or "
           "more."},
          {"argmin of nothing", [] { argmin(ones({0}), 0); },
           "argmin: there is no minimum over no elements: [0]. Reduce over an axis of size 1 or "
           "more."},
          {"axis", [] { amax(ones({3}), {1}); },
           "amax: the axis does not exist: axis 1 of a tensor with 1 axes. Count axes from 0, "
           "or from -1 backwards."},
          {"twice",
           [] {
             amax(ones({3, 2}), {0, -2});
           },
           "amax: an axis is named twice: [0, -2] for shape [3, 2]. Name each axis once."},
          {"argmax axis", [] { argmax(ones({}), 0); },
           "argmax: the axis does not exist: axis 0 of a tensor with 0 axes. Count axes from 0, "
           "or from -1 backwards."}}};
}

}  // namespace plimsoll
