#include "ops/update/radam_update/radam_update.h"

#include "tests/support/update_case.h"

namespace plimsoll {
namespace {

using enum SlotValues;

OpCase updates(const char* name, Shape shape, double step, RadamUpdate o) {
  return update_case(
      name, shape, step, {any, positive},
      [=](const UpdateInputs& in) {
        radam_update(in.param, in.grad, in.slots[0], in.slots[1], in.step, in.lr, o);
      },
      [=](double& p, double g, double* state, double lr, double t) {
        g += o.weight_decay * p;
        state[0] = o.beta1 * state[0] + (1 - o.beta1) * g;
        state[1] = o.beta2 * state[1] + (1 - o.beta2) * g * g;
        const double unbiased = state[0] / (1 - std::pow(o.beta1, t));
        const double rest = 1 - std::pow(o.beta2, t);
        const double longest = 2 / (1 - o.beta2) - 1;
        const double length = longest - 2 * t * std::pow(o.beta2, t) / rest;
        double scale = 1;
        if (length > 5)
          scale = std::sqrt((length - 4) * (length - 2) * longest /
                            ((longest - 4) * (longest - 2) * length)) *
                  std::sqrt(rest) / (std::sqrt(state[1]) + o.eps);
        p -= lr * unbiased * scale;
      });
}

}  // namespace

OpCases radam_update_cases() {
  const auto with = [](RadamUpdate o) {
    const Tensor w = ones({2}), s = zeros({2});
    radam_update(w, w, s, s, ones({}, {.dtype = DType::i64}), ones({}), o);
  };
  return {.good = {updates("unrectified", {5, 7}, 5, {}), updates("rectified", {5, 7}, 6, {}),
                   updates("later", {5, 7}, 1000, {}),
                   updates("options", {5, 7}, 20,
                           {.beta1 = 0.5, .beta2 = 0.9, .eps = 0.25, .weight_decay = 0.5}),
                   updates("scalar", {}, 2, {}), updates("empty", {0, 3}, 2, {})},
          .bad = {{"beta", [=] { with({.beta1 = 1}); },
                   "radam_update: beta1 is out of range: 1. Use 0 <= beta1 < 1."},
                  {"l2", [=] { with({.weight_decay = -1}); },
                   "radam_update: weight_decay is not a number from 0: -1. Use 0 or more."}}};
}

}  // namespace plimsoll
