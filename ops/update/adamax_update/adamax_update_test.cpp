#include "ops/update/adamax_update/adamax_update.h"

#include "tests/support/update_case.h"

namespace plimsoll {
namespace {

using enum SlotValues;

OpCase updates(const char* name, Shape shape, double step, AdamaxUpdate o) {
  return update_case(
      name, shape, step, {any, positive},
      [=](const UpdateInputs& in) {
        adamax_update(in.param, in.grad, in.slots[0], in.slots[1], in.step, in.lr, o);
      },
      [=](double& p, double g, double* state, double lr, double t) {
        g += o.weight_decay * p;
        state[0] = o.beta1 * state[0] + (1 - o.beta1) * g;
        state[1] = std::max(o.beta2 * state[1], std::abs(g) + o.eps);
        p -= lr / (1 - std::pow(o.beta1, t)) * state[0] / state[1];
      });
}

}  // namespace

OpCases adamax_update_cases() {
  const auto with = [](AdamaxUpdate o) {
    const Tensor w = ones({2}), s = zeros({2});
    adamax_update(w, w, s, s, ones({}, {.dtype = DType::i64}), ones({}), o);
  };
  return {.good = {updates("first_step", {5, 7}, 1, {}), updates("later", {5, 7}, 1000, {}),
                   updates("options", {5, 7}, 3,
                           {.beta1 = 0.5, .beta2 = 0.75, .eps = 0.25, .weight_decay = 0.5}),
                   updates("scalar", {}, 2, {}), updates("empty", {0, 3}, 2, {})},
          .bad = {{"beta", [=] { with({.beta2 = -1}); },
                   "adamax_update: beta2 is out of range: -1. Use 0 <= beta2 < 1."},
                  {"eps", [=] { with({.eps = -1}); },
                   "adamax_update: eps is not a number from 0: -1. Use 0 or more."}}};
}

}  // namespace plimsoll
