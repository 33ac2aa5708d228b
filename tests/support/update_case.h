// Cases for the ops that update one parameter in place (ops/common/update.h).
//
//   update_case("plain", {5, 7}, /*step=*/3, {SlotValues::any, SlotValues::positive},
//               [](const UpdateInputs& in) { adam_update(in.param, in.grad, in.slots[0], ...); },
//               [](double& p, double g, double* slots, double lr, double t) { ... })
#pragma once

#include "ops/common/update.h"
#include "ops/pointwise/copy/copy.h"
#include "ops/random/full/full.h"
#include "tests/support/op_case.h"

namespace plimsoll {

struct UpdateInputs {
  Tensor param, grad, step, lr;
  std::vector<Tensor> slots;
};

enum class SlotValues { any, positive };
using UpdateCall = std::function<void(const UpdateInputs&)>;
using UpdateElement = std::function<void(double& p, double g, double* slots, double lr, double t)>;

// `call` changes copies, which are the results. `element` is the same step on one element.
inline OpCase update_case(const char* name, Shape shape, double step,
                          const std::vector<SlotValues>& slots, UpdateCall call,
                          UpdateElement element) {
  constexpr double kRate = 0.125;
  std::vector<InputSpec> inputs{real(shape), real(shape), given_index({}, {step})};
  for (const SlotValues values : slots)
    inputs.push_back(values == SlotValues::any ? real(shape) : real(shape, 0.5, 1));
  return {.name = name,
          .inputs = inputs,
          .call =
              [=](std::span<const Tensor> in) {
                const DType state = compute_dtype(in[0].dtype());
                UpdateInputs copy{.param = clone(in[0].detach()),
                                  .grad = in[1].detach(),
                                  .step = contiguous(in[2]),
                                  .lr = full({}, kRate, {state, in[0].device()}),
                                  .slots = {}};
                for (size_t k = 3; k < in.size(); ++k)
                  copy.slots.push_back(clone(cast(in[k].detach(), state)));
                call(copy);
                std::vector<Tensor> results{copy.param};
                results.insert(results.end(), copy.slots.begin(), copy.slots.end());
                return results;
              },
          .reference =
              [=](const std::vector<Array>& in) {
                std::vector<Array> results{in[0]};
                results.insert(results.end(), in.begin() + 3, in.end());
                for (int64_t i = 0; i < count(shape); ++i) {
                  std::vector<double> state;
                  for (size_t k = 1; k < results.size(); ++k) state.push_back(results[k][i]);
                  element(results[0][i], in[1][i], state.data(), kRate, step);
                  for (size_t k = 1; k < results.size(); ++k) results[k][i] = state[k - 1];
                }
                return results;
              },
          .differentiable = false};
}

}  // namespace plimsoll
