#include "ops/reduction/norm/norm.h"

#include "autograd/gradients.h"
#include "ops/random/full/full.h"
#include "tests/support/reduce_reference.h"

namespace plimsoll {
namespace {

double norm_of(const std::vector<double>& group, double p) {
  double total = 0, highest = 0, lowest = kInf;
  for (const double v : group) {
    total += std::pow(std::abs(v), p);
    highest = std::max(highest, std::abs(v));
    lowest = std::min(lowest, std::abs(v));
  }
  if (std::isinf(p)) return p > 0 ? highest : lowest;
  return std::pow(total, 1 / p);
}

// Values away from 0, where |x| has no derivative.
OpCase norms(const char* name, Shape shape, double p, Shape axes, Keep keep = Keep::none) {
  std::vector<double> values;
  for (int64_t i = 0; i < count(shape); ++i)
    values.push_back((i % 3 == 0 ? -0.3 : 0.4) - 0.07 * static_cast<double>(i * i % 11));
  for (double& v : values)
    if (std::abs(v) < 0.04) v = 0.6;
  return {.name = name,
          .inputs = {given(shape, values)},
          .call = [=](auto in) { return std::vector{norm(in[0], p, axes, keep)}; },
          .reference =
              [=](const std::vector<Array>& in) {
                return std::vector{reduce_groups(
                    in[0], axes, keep, [&](const auto& group) { return norm_of(group, p); })};
              }};
}

// Elements whose squares f32 cannot hold, large and small.
OpCase out_of_range(const char* name, double size) {
  OpCase c = norms(name, {4}, 2, {0});
  c.inputs = {given({4}, {3 * size, -4 * size, 0, 12 * size})};
  c.dtypes = {DType::f64, DType::f32};
  c.differentiable = false;
  return c;
}

OpCase gradient_at_zero(const char* name, double p, std::vector<double> expected) {
  return {.name = name,
          .inputs = {given({2, 3}, {0, 0, 0, 0, 3, -4})},
          .call =
              [p](auto in) {
                const Tensor x = in[0].detach().require_grad();
                return gradients(sum(norm(x, p, {1})), std::array{x});
              },
          .reference =
              [expected](auto) {
                Array dx({2, 3});
                dx.values = expected;
                return std::vector{dx};
              },
          .differentiable = false};
}

OpCase whole() {
  OpCase c = norms("whole", {3, 4}, 2, {0, 1});
  c.call = [](auto in) { return std::vector{norm(in[0])}; };
  return c;
}

}  // namespace

OpCases norm_cases() {
  return {.good = {norms("two_rows", {5, 7}, 2, {-1}),
                   norms("two_columns", {5, 7}, 2, {0}),
                   norms("two_apart", {3, 4, 2}, 2, {0, 2}, Keep::ones),
                   whole(),
                   norms("one_rows", {5, 7}, 1, {1}),
                   norms("one_columns", {5, 7}, 1, {0}, Keep::ones),
                   norms("three", {5, 7}, 3, {1}),
                   norms("three_columns", {4, 70}, 3, {0}),
                   norms("half", {3, 4}, 0.5, {1}),
                   norms("infinity", {2, 3}, kInf, {1}),
                   norms("minus_infinity", {2, 3}, -kInf, {1}),
                   norms("no_axes", {2, 3}, 2, {}),
                   norms("no_elements", {2, 0}, 2, {1}),
                   norms("no_columns", {2, 0}, 2, {0}),
                   out_of_range("large", 1e30),
                   out_of_range("small", 1e-30),
                   gradient_at_zero("zero_two", 2, {0, 0, 0, 0, 0.6, -0.8}),
                   gradient_at_zero("zero_one", 1, {0, 0, 0, 0, 1, -1}),
                   gradient_at_zero("zero_infinity", kInf, {0, 0, 0, 0, 0, -1}),
                   gradient_at_zero(
                       "zero_half", 0.5,
                       {0, 0, 0, 0, (std::sqrt(3) + 2) / std::sqrt(3), -(std::sqrt(3) + 2) / 2})},
          .bad = {{"p", [] { norm(ones({2}), 0, {0}); },
                   "norm: p is neither positive nor infinite: 0. Use 1, 2 or infinity."},
                  {"integers", [] { norm(ones({2}, {.dtype = DType::i32}), 2, {0}); },
                   "norm: a floating type is needed: got i32. Cast it first."},
                  {"largest integer", [] { norm(ones({2}, {.dtype = DType::i32}), kInf, {0}); },
                   "norm: a floating type is needed: got i32. Cast it first."},
                  {"undefined", [] { norm(Tensor()); },
                   "norm: the tensor is undefined. Pass one that was computed."}}};
}

}  // namespace plimsoll
