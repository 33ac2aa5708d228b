#include "ops/update/rmsprop_update/rmsprop_update.h"

#include "tests/support/update_case.h"

namespace plimsoll {
namespace {

using enum SlotValues;

// The mean square is at least 1/2 and the mean at most 1/4 where one is kept, so that the variance
// stays away from zero.
OpCase updates(const char* name, Shape shape, RmspropUpdate o) {
  std::vector<SlotValues> slots{positive};
  if (o.centred) slots.push_back(any);
  if (o.momentum != 0) slots.push_back(any);
  OpCase result = update_case(
      name, shape, 3, slots,
      [=](const UpdateInputs& in) {
        RmspropState state{in.slots[0]};
        if (o.centred) state.mean = in.slots[1];
        if (o.momentum != 0) state.velocity = in.slots.back();
        rmsprop_update(in.param, in.grad, state, in.step, in.lr, o);
      },
      [=](double& p, double g, double* state, double lr, double) {
        g += o.weight_decay * p;
        double variance = state[0] = o.alpha * state[0] + (1 - o.alpha) * g * g;
        int next = 1;
        if (o.centred) {
          double& mean = state[next++];
          mean = o.alpha * mean + (1 - o.alpha) * g;
          variance = std::max(variance - mean * mean, 0.0);
        }
        double d = g / (std::sqrt(variance) + o.eps);
        if (o.momentum != 0) d = state[next] = o.momentum * state[next] + d;
        p -= lr * d;
      });
  if (o.centred) result.inputs[4].low = -0.25, result.inputs[4].high = 0.25;
  return result;
}

// Where gradients hardly change, rounding takes the variance below 0. Here it is far below, so that
// no rounding decides.
OpCase no_variance() {
  OpCase result = updates("no_variance", {5, 7}, {.alpha = 0.75, .eps = 0.5, .centred = true});
  result.inputs[1].low = -0.25, result.inputs[1].high = 0.25;  // the gradient
  result.inputs[3].low = 0, result.inputs[3].high = 0.125;     // the mean square
  result.inputs[4].low = 0.75, result.inputs[4].high = 1;      // the mean
  return result;
}

void update_ones(RmspropState state, RmspropUpdate o) {
  const Tensor w = ones({2});
  rmsprop_update(w, w, state, ones({}, {.dtype = DType::i64}), ones({}), o);
}

}  // namespace

OpCases rmsprop_update_cases() {
  const auto with = [](RmspropUpdate o) { update_ones({zeros({2})}, o); };
  return {
      .good = {updates("plain", {5, 7}, {}), updates("alpha", {5, 7}, {.alpha = 0.5, .eps = 0.25}),
               updates("momentum", {5, 7}, {.momentum = 0.5}),
               updates("centred", {5, 7}, {.centred = true}),
               updates("all", {5, 7}, {.momentum = 0.5, .centred = true, .weight_decay = 0.25}),
               no_variance(), updates("scalar", {}, {}),
               updates("empty", {0, 3}, {.momentum = 0.5})},
      .bad = {{"alpha", [=] { with({.alpha = 1}); },
               "rmsprop_update: alpha is out of range: 1. Use 0 <= alpha < 1."},
              {"eps", [=] { with({.eps = -1}); },
               "rmsprop_update: eps is not a number from 0: -1. Use 0 or more."},
              {"no mean", [=] { with({.centred = true}); },
               "rmsprop_update: mean goes with centred: it is missing. Pass it exactly when the "
               "option is on."},
              {"no momentum",
               [] {
                 update_ones({zeros({2}), {}, zeros({2})}, {});
               },
               "rmsprop_update: velocity goes with momentum: it is given. Pass it exactly when the "
               "option is on."}}};
}

}  // namespace plimsoll
