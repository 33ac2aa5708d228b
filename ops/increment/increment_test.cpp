#include "ops/increment/increment.h"

#include "ops/copy/copy.h"
#include "ops/full/full.h"
#include "tests/op_case.h"

namespace plimsoll {
namespace {

OpCase increments(const char* name, double from) {
  return {.name = name,
          .inputs = {given_index({}, {from})},
          .call =
              [](auto in) {
                const Tensor counter = clone(in[0]);
                increment(counter);
                increment(counter);
                return std::vector{counter};
              },
          .reference =
              [](std::vector<Array> in) {
                in[0][0] += 2;
                return in;
              },
          .differentiable = false};
}

OpCase skips() {
  return {.name = "skip",
          .inputs = {given_index({}, {7}), given_index({}, {1}), given_index({}, {0})},
          .call =
              [](auto in) {
                const Tensor counter = clone(in[0]);
                increment(counter, cast(in[1], DType::boolean));
                increment(counter, cast(in[2], DType::boolean));
                return std::vector{counter};
              },
          .reference =
              [](const std::vector<Array>& in) {
                Array y = in[0];
                ++y[0];
                return std::vector{y};
              },
          .differentiable = false};
}

}  // namespace

OpCases increment_cases() {
  return {
      .good = {increments("from_zero", 0), increments("large", 0x1p40), skips()},
      .bad = {{"type", [] { increment(ones({})); },
               "increment: the step count must be i64: got f32 [] on cpu. Use zeros({}, {.dtype = "
               "DType::i64})."},
              {"skip", [] { increment(zeros({}, {.dtype = DType::i64}), ones({})); },
               "increment: what says to skip must be bool: got f32 [] on cpu. Use nonfinite()."},
              {"shape", [] { increment(ones({1}, {.dtype = DType::i64})); },
               "increment: the step count must be a scalar: got i64 [1] on cpu. Use zeros({}, "
               "{.dtype = DType::i64})."}}};
}

}  // namespace plimsoll
