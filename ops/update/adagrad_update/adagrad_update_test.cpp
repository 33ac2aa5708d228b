#include "ops/update/adagrad_update/adagrad_update.h"

#include "tests/support/update_case.h"

namespace plimsoll {
namespace {

using enum SlotValues;

OpCase updates(const char* name, Shape shape, double step, AdagradUpdate o) {
  return update_case(
      name, shape, step, {positive},
      [=](const UpdateInputs& in) {
        adagrad_update(in.param, in.grad, in.slots[0], in.step, in.lr, o);
      },
      [=](double& p, double g, double* sum, double lr, double t) {
        g += o.weight_decay * p;
        sum[0] += g * g;
        p -= lr / (1 + (t - 1) * o.lr_decay) * g / (std::sqrt(sum[0]) + o.eps);
      });
}

}  // namespace

OpCases adagrad_update_cases() {
  const auto with = [](AdagradUpdate o) {
    const Tensor w = ones({2});
    adagrad_update(w, w, zeros({2}), ones({}, {.dtype = DType::i64}), ones({}), o);
  };
  return {.good = {updates("plain", {5, 7}, 1, {}), updates("decay", {5, 7}, 4, {.lr_decay = 0.5}),
                   updates("l2", {5, 7}, 2, {.eps = 0.25, .weight_decay = 0.5}),
                   updates("scalar", {}, 2, {}), updates("empty", {0, 3}, 2, {})},
          .bad = {{"decay", [=] { with({.lr_decay = -1}); },
                   "adagrad_update: lr_decay is not a number from 0: -1. Use 0 or more."},
                  {"eps", [=] { with({.eps = -1}); },
                   "adagrad_update: eps is not a number from 0: -1. Use 0 or more."},
                  {"l2", [=] { with({.weight_decay = -1}); },
                   "adagrad_update: weight_decay is not a number from 0: -1. Use 0 or more."}}};
}

}  // namespace plimsoll
