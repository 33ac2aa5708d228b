#include "ops/update/increment/increment.h"

#include "ops/pointwise/copy/copy.h"
#include "ops/random/full/full.h"
#include "ops/update/increment/rate_at_step.h"
#include "tests/support/op_case.h"

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

// Before and after the step is counted on: `expected`, of the rates 0.5, 0.25, 2 from step `first`
// on.
OpCase looks_up(const char* name, double first, double step, std::array<double, 2> expected) {
  return {.name = name,
          .inputs = {given({3}, {0.5, 0.25, 2}), given_index({}, {first}), given_index({}, {step})},
          .call =
              [](auto in) {
                const Tensor rates = cast(in[0], DType::f64), counter = clone(in[2]);
                const Tensor before = zeros({}, {DType::f64, rates.device()});
                const Tensor after = zeros({}, {DType::f64, rates.device()});
                rate_at_step(before, rates, in[1], counter);
                increment(counter);
                rate_at_step(after, rates, in[1], counter);
                return std::vector{before, after};
              },
          .reference =
              [expected](const std::vector<Array>&) {
                std::vector<Array> y(2);
                for (size_t i = 0; i < 2; ++i) y[i][0] = expected[i];
                return y;
              },
          .differentiable = false};
}

Tensor f64(const Shape& shape) { return zeros(shape, {.dtype = DType::f64}); }
Tensor i64(const Shape& shape) { return zeros(shape, {.dtype = DType::i64}); }

}  // namespace

OpCases increment_cases() {
  return {
      .good = {increments("from_zero", 0), increments("large", 0x1p40), skips(),
               looks_up("rate", 0, 0, {0.5, 0.25}),
               looks_up("rate_from_large", 0x1p40, 0x1p40 + 1, {0.25, 2}),
               looks_up("rate_before_first", 5, 4, {kNaN, 0.5}),
               looks_up("rate_behind_last", 5, 7, {2, kNaN})},
      .bad = {{"type", [] { increment(ones({})); },
               "increment: the step count must be i64: got f32 [] on cpu. Use zeros({}, {.dtype = "
               "DType::i64})."},
              {"skip", [] { increment(zeros({}, {.dtype = DType::i64}), ones({})); },
               "increment: what says to skip must be bool: got f32 [] on cpu. Use nonfinite()."},
              {"shape", [] { increment(ones({1}, {.dtype = DType::i64})); },
               "increment: the step count must be a scalar: got i64 [1] on cpu. Use zeros({}, "
               "{.dtype = DType::i64})."},
              {"rate_type", [] { rate_at_step(f64({}), ones({3}), i64({}), i64({})); },
               "rate_at_step: learning rates must be f64: got f32 [3] on cpu. Use {.dtype = "
               "DType::f64}."},
              {"rate_none", [] { rate_at_step(f64({}), f64({0}), i64({}), i64({})); },
               "rate_at_step: the rates must be a list of one or more: got f64 [0] on cpu. Give it "
               "the shape [n]."},
              {"rate_step", [] { rate_at_step(f64({}), f64({3}), i64({}), i64({1})); },
               "rate_at_step: the step count must be a scalar: got i64 [1] on cpu. Use zeros({}, "
               "{.dtype = DType::i64})."}}};
}

}  // namespace plimsoll
