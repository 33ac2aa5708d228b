#include "ops/pointwise/gelu/gelu.h"

#include "ops/random/full/full.h"
#include "tests/support/op_case.h"

namespace plimsoll {
namespace {

double exact(double x) { return x * 0.5 * std::erfc(-x / std::sqrt(2.0)); }
double approximate(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x)));
}

OpCase unary(const char* name, InputSpec x, Tensor (*op)(const Tensor&), double (*f)(double)) {
  return {.name = name,
          .inputs = {x},
          .call = [op](auto in) { return std::vector{op(in[0])}; },
          .reference =
              [f](const std::vector<Array>& in) {
                Array y = in[0];
                for (double& v : y.values) v = f(v);
                return std::vector{y};
              }};
}

}  // namespace

OpCases gelu_cases() {
  return {.good = {unary("exact", real({5, 7}, -3, 3), gelu, exact),
                   unary("exact_wide", real({67}, -9, 9), gelu, exact),
                   unary("exact_scalar", real({}), gelu, exact),
                   unary("exact_empty", real({0, 3}), gelu, exact),
                   unary("tanh", real({5, 7}, -3, 3), gelu_tanh, approximate),
                   unary("tanh_wide", real({67}, -9, 9), gelu_tanh, approximate),
                   unary("tanh_empty", real({0}), gelu_tanh, approximate)},
          .bad = {{"integers", [] { gelu(ones({2}, {.dtype = DType::i64})); },
                   "gelu: a floating type is needed: got i64 [2] on cpu. Cast it first."},
                  {"bool", [] { gelu_tanh(ones({2}, {.dtype = DType::boolean})); },
                   "gelu_tanh: a floating type is needed: got bool [2] on cpu. Cast it first."}}};
}

}  // namespace plimsoll
