#include "ops/reduction/variance/variance.h"

#include "autograd/gradients.h"
#include "ops/random/full/full.h"
#include "tests/support/reduce_reference.h"

namespace plimsoll {
namespace {

double variance_of(const std::vector<double>& group, double correction) {
  long double mean = 0, squares = 0;
  for (const double v : group) mean += v;
  mean /= static_cast<long double>(group.size());
  for (const double v : group) squares += (v - mean) * (v - mean);
  return static_cast<double>(squares) /
         std::max(0.0, static_cast<double>(group.size()) - correction);
}

OpCase variances(const char* name, InputSpec x, Shape axes, Keep keep = Keep::none,
                 double correction = 1) {
  return {.name = name,
          .inputs = {x},
          .call =
              [=](auto in) {
                return std::vector{variance(in[0], axes, keep, {.correction = correction})};
              },
          .reference =
              [=](const std::vector<Array>& in) {
                return std::vector{reduce_groups(in[0], axes, keep, [&](const auto& group) {
                  return variance_of(group, correction);
                })};
              }};
}

OpCase deviations(const char* name, InputSpec x, Shape axes, Keep keep = Keep::none,
                  double correction = 1) {
  OpCase c = variances(name, x, axes, keep, correction);
  c.call = [=](auto in) {
    return std::vector{stddev(in[0], axes, keep, {.correction = correction})};
  };
  c.reference = [reference = c.reference](const std::vector<Array>& in) {
    std::vector<Array> y = reference(in);
    for (double& v : y[0].values) v = std::sqrt(v);
    return y;
  };
  return c;
}

// Not for 16 bits, which cannot tell these values apart.
OpCase far_from_zero(const char* name, Shape axes) {
  OpCase c = variances(name, real({9, 48}, 9999, 10001), axes);
  c.dtypes = {DType::f64, DType::f32};
  c.tolerance = 2;  // the mean, of 10000, is rounded to 1e-12
  return c;
}

OpCase values_only(OpCase c) {
  c.differentiable = false;
  return c;
}

// All elements equal: the deviation is 0, and PyTorch's gradient is too.
OpCase constant_gradient() {
  return {
      .name = "constant_gradient",
      .inputs = {real({3})},
      .call =
          [](auto in) {
            const Tensor c =
                full({3, 4}, 2, {.dtype = in[0].dtype(), .device = in[0].device()}).require_grad();
            return gradients(stddev(c, {1}), std::array{c}, {.seed = in[0]});
          },
      .reference =
          [](auto) {
            return std::vector{Array({3, 4})};
          },
      .differentiable = false};
}

}  // namespace

OpCases variance_cases() {
  return {.good = {variances("rows", real({5, 7}), {-1}),
                   variances("columns", real({5, 7}), {0}),
                   variances("all", real({3, 4, 2}), {0, 1, 2}),
                   variances("middle_kept", real({2, 5, 3}), {1}, Keep::ones),
                   variances("apart", real({3, 4, 2}), {0, 2}, Keep::ones),
                   variances("biased", real({4, 6}), {1}, Keep::none, 0),
                   variances("wide_columns", real({3, 130}), {0}),
                   variances("long_row", real({2, 133}), {1}),
                   far_from_zero("offset_rows", {1}),
                   far_from_zero("offset_columns", {0}),
                   values_only(variances("one_element", real({3, 1}), {1})),
                   variances("one_element_biased", real({3, 1}), {1}, Keep::none, 0),
                   values_only(variances("no_elements", real({3, 0}), {1})),
                   values_only(variances("no_axes", real({3, 2}), {})),
                   values_only(variances("no_axes_of_eight", real({1, 2, 1, 1, 2, 1, 1, 1}), {},
                                         Keep::none, 0)),
                   variances("no_columns", real({3, 0}), {0}),
                   deviations("deviation_rows", real({5, 7}), {-1}),
                   deviations("deviation_columns", real({5, 7}), {0}, Keep::ones, 0),
                   deviations("deviation_apart", real({3, 4, 2}), {0, 2}),
                   constant_gradient()},
          .bad = {{"correction", [] { variance(ones({2}), {0}, Keep::none, {.correction = kNaN}); },
                   "variance: the correction is not a number: nan. Use 1 or 0."},
                  {"integers", [] { variance(ones({2}, {.dtype = DType::i32}), {0}); },
                   "variance: a floating type is needed: got i32. Cast it first."},
                  {"undefined", [] { stddev(Tensor(), {0}); },
                   "stddev: the tensor is undefined. Pass one that was computed."},
                  {"twice",
                   [] {
                     stddev(ones({2, 3}), {1, -1});
                   },
                   "stddev: an axis is named twice: [1, -1] for shape [2, 3]. Name each axis "
                   "once."}}};
}

}  // namespace plimsoll
