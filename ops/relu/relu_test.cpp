#include "ops/relu/relu.h"

#include "ops/full/full.h"
#include "tests/op_case.h"

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
               {.name = "empty", .inputs = {real({3, 0})}, .call = call, .reference = reference}},
      .bad = {{"integers", [] { relu(ones({2}, {.dtype = DType::i32})); },
               "relu: a floating type is needed: got i32 [2] on cpu. Cast it first."}}};
}

}  // namespace plimsoll
