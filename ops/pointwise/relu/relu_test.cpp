#include "ops/pointwise/relu/relu.h"

#include "autograd/gradients.h"
#include "ops/pointwise/math/math.h"
#include "ops/random/full/full.h"
#include "tests/support/op_case.h"

namespace plimsoll {

OpCases relu_cases() {
  const auto call = [](auto in) { return std::vector{relu(in[0])}; };
  const auto reference = [](const std::vector<Array>& in) {
    Array y = in[0];
    for (double& v : y.values) v = v > 0 ? v : 0;
    return std::vector{y};
  };
  return {
      .good = {{.name = "matrix", .inputs = {real({5, 7})}, .call = call, .reference = reference},
               {.name = "scalar", .inputs = {real({})}, .call = call, .reference = reference},
               {.name = "special",
                .inputs = {given({6}, {kNaN, kInf, -kInf, -0.0, 0.0, 2})},
                .call = call,
                .reference =
                    [](auto) {
                      Array y({6});
                      y.values = {kNaN, kInf, 0, 0, 0, 2};
                      return std::vector{y};
                    },
                .differentiable = false},
               {.name = "one_zero",
                .inputs = {given({2}, {-0.0, 0.0})},
                .call = [](auto in) { return std::vector{rsqrt(relu(in[0]))}; },
                .reference =
                    [](auto) {
                      Array y({2});
                      y.values = {kInf, kInf};
                      return std::vector{y};
                    },
                .differentiable = false},
               {.name = "special_gradient",
                .inputs = {given({6}, {-2, -0.0, 0, 3, 4, -kInf}),
                           given({6}, {kInf, -kInf, kNaN, kInf, kNaN, 1})},
                .call =
                    [](auto in) {
                      const Tensor x = in[0].detach().require_grad();
                      return gradients(relu(x), std::array{x}, {.seed = in[1]});
                    },
                .reference =
                    [](auto) {
                      Array dx({6});
                      dx.values = {0, 0, 0, kInf, kNaN, 0};
                      return std::vector{dx};
                    },
                .differentiable = false},
               {.name = "empty", .inputs = {real({3, 0})}, .call = call, .reference = reference}},
      .bad = {{"integers", [] { relu(ones({2}, {.dtype = DType::i32})); },
               "relu: a floating type is needed: got i32 [2] on cpu. Cast it first."}}};
}

}  // namespace plimsoll
