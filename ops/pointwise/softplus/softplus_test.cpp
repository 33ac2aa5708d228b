#include "ops/pointwise/softplus/softplus.h"

#include <cmath>

#include "ops/random/full/full.h"
#include "tests/support/op_case.h"

namespace plimsoll {

OpCases softplus_cases() {
  const auto call = [](auto in) { return std::vector{softplus(in[0])}; };
  const auto reference = [](const std::vector<Array>& in) {
    Array y = in[0];
    for (double& v : y.values) v = (v > 0 ? v : 0) + std::log1p(std::exp(-std::abs(v)));
    return std::vector{y};
  };
  return {
      .good = {{.name = "matrix",
                .inputs = {real({5, 7}, -3, 3)},
                .call = call,
                .reference = reference},
               {.name = "scalar", .inputs = {real({})}, .call = call, .reference = reference},
               {.name = "large",
                .inputs = {given({8}, {-1000, -100, -30, -0.0, 0, 30, 100, 1000})},
                .call = call,
                .reference = reference},
               // Errors are relative to the largest value, so small values need a case of their
               // own; f16 has too few digits left there.
               {.name = "tail",
                .inputs = {real({16}, -20, -18)},
                .call = call,
                .reference = reference,
                .dtypes = {DType::f64, DType::f32, DType::bf16}},
               {.name = "special",
                .inputs = {given({3}, {kNaN, kInf, -kInf})},
                .call = call,
                .reference =
                    [](auto) {
                      Array y({3});
                      y.values = {kNaN, kInf, 0};
                      return std::vector{y};
                    },
                .differentiable = false},
               {.name = "empty", .inputs = {real({3, 0})}, .call = call, .reference = reference}},
      .bad = {{"integers", [] { softplus(ones({2}, {.dtype = DType::i32})); },
               "softplus: a floating type is needed: got i32 [2] on cpu. Cast it first."}}};
}

}  // namespace plimsoll
