#include "ops/update/nadam_update/nadam_update.h"

#include "tests/support/update_case.h"

namespace plimsoll {
namespace {

using enum SlotValues;

OpCase updates(const char* name, Shape shape, double step, NadamUpdate o) {
  return update_case(
      name, shape, step, {any, positive},
      [=](const UpdateInputs& in) {
        nadam_update(in.param, in.grad, in.slots[0], in.slots[1], in.step, in.lr, o);
      },
      [=](double& p, double g, double* state, double lr, double t) {
        const auto mu = [&](double s) {
          return o.beta1 * (1 - 0.5 * std::pow(0.96, s * o.momentum_decay));
        };
        double product = 1;
        for (double s = 1; s <= t; ++s) product *= mu(s);
        g += o.weight_decay * p;
        state[0] = o.beta1 * state[0] + (1 - o.beta1) * g;
        state[1] = o.beta2 * state[1] + (1 - o.beta2) * g * g;
        const double root = std::sqrt(state[1] / (1 - std::pow(o.beta2, t))) + o.eps;
        p -= lr * (1 - mu(t)) / (1 - product) * g / root;
        p -= lr * mu(t + 1) / (1 - product * mu(t + 1)) * state[0] / root;
      });
}

}  // namespace

OpCases nadam_update_cases() {
  const auto with = [](NadamUpdate o) {
    const Tensor w = ones({2}), s = zeros({2});
    nadam_update(w, w, s, s, ones({}, {.dtype = DType::i64}), ones({}), o);
  };
  return {.good = {updates("first_step", {5, 7}, 1, {}), updates("later", {5, 7}, 100, {}),
                   updates("options", {5, 7}, 3,
                           {.beta1 = 0.5,
                            .beta2 = 0.75,
                            .eps = 0.25,
                            .momentum_decay = 0.5,
                            .weight_decay = 0.5}),
                   updates("scalar", {}, 2, {}), updates("empty", {0, 3}, 2, {})},
          .bad = {{"beta", [=] { with({.beta1 = 1}); },
                   "nadam_update: beta1 is out of range: 1. Use 0 <= beta1 < 1."},
                  {"decay", [=] { with({.momentum_decay = -1}); },
                   "nadam_update: momentum_decay is not a number from 0: -1. Use 0 or more."}}};
}

}  // namespace plimsoll
