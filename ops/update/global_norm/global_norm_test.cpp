#include "ops/update/global_norm/global_norm.h"

#include "ops/pointwise/copy/copy.h"
#include "ops/random/full/full.h"
#include "tests/support/op_case.h"

namespace plimsoll {
namespace {

double length(const std::vector<Array>& in) {
  double total = 0;
  for (const Array& x : in)
    for (const double v : x.values) total += v * v;
  return std::sqrt(total);
}

OpCase norms(const char* name, std::vector<InputSpec> inputs) {
  return {.name = name,
          .inputs = inputs,
          .call = [](auto in) { return std::vector{global_norm(in)}; },
          .reference =
              [](const std::vector<Array>& in) {
                Array y;
                y[0] = length(in);
                return std::vector{y};
              },
          .differentiable = false};
}

// Scales a tensor to a norm that is given.
OpCase scales(const char* name, Shape shape, double norm, double max_norm, double factor) {
  return {.name = name,
          .inputs = {real(shape)},
          .call =
              [=](auto in) {
                const Tensor given = full({}, norm, {DType::f64, in[0].device()});
                return std::vector{scale_to_norm(in[0], given, max_norm)};
              },
          .reference =
              [=](std::vector<Array> in) {
                for (double& v : in[0].values) v *= factor;
                return in;
              },
          .differentiable = false};
}

}  // namespace

OpCases global_norm_cases() {
  const double nan = std::nan(""), infinity = HUGE_VAL;
  OpCases cases{
      .good = {norms("one", {real({5, 7})}), norms("three", {real({5}), real({2, 3}), real({})}),
               norms("zeros", {given({3}, {0, 0, 0})}),
               norms("empty", {real({0, 3}), real({2, 0})}),
               norms("some_empty", {real({0}), real({4})}), norms("nan", {given({2}, {1, nan})}),
               norms("infinite", {given({2}, {1, -infinity})}),
               norms("many_pieces", {real({40001}), real({16384}), real({1})}),
               norms("seventy", std::vector<InputSpec>(70, real({3}))),
               scales("scale", {5, 7}, 4, 1, 1 / (4 + 1e-6)),
               scales("scale_below", {5, 7}, 0.5, 1, 1), scales("scale_zero", {3}, 0, 1, 1),
               scales("scale_nan", {3}, nan, 1, nan), scales("scale_infinite", {3}, infinity, 1, 0),
               scales("scale_scalar", {}, 4, 2, 2 / (4 + 1e-6)),
               scales("scale_empty", {0}, 4, 2, 1)},
      .bad = {
          {"maximum", [] { scale_to_norm(ones({2}), ones({}), 0); },
           "scale_to_norm: the maximum must be positive: 0. Use a number above 0."},
          {"norm shape", [] { scale_to_norm(ones({2}), ones({2}), 1); },
           "scale_to_norm: the norm must be a scalar: got f32 [2] on cpu. Use full({}, value)."},
          {"norm type", [] { scale_to_norm(ones({2}), ones({}, {.dtype = DType::f16}), 1); },
           "scale_to_norm: the norm must be f32 or f64: got f16 [] on cpu. Use full({}, "
           "value)."},
          {"scale integers", [] { scale_to_norm(ones({2}, {.dtype = DType::i64}), ones({}), 1); },
           "scale_to_norm: a floating type is needed: got i64 [2] on cpu. Cast it first."}}};
  // Squares beyond the range of f32: 1e30 in each of four elements.
  OpCase large = norms("large", {given({4}, {1e30, -1e30, 1e30, 1e30})});
  large.dtypes = {DType::f64, DType::f32, DType::bf16};
  cases.good.push_back(large);
  // One f64 tensor among others makes the result f64.
  OpCase mixed = norms("mixed", {real({3}), real({4})});
  mixed.call = [](auto in) {
    return std::vector{global_norm(std::array{in[0], cast(in[1], DType::f64)})};
  };
  cases.good.push_back(mixed);
  return cases;
}

}  // namespace plimsoll
