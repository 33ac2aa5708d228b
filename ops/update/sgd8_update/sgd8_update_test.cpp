#include "ops/update/sgd8_update/sgd8_update.h"

#include "tests/support/coded_update_case.h"

namespace plimsoll {
namespace {

OpCase updates(const char* name, Shape shape, SgdUpdate o, double step = 2) {
  return coded_update_case(
      name, shape, step, {true},
      [=](const CodedInputs& in) {
        sgd8_update(in.param, in.grad, in.slots[0], in.step, in.lr, o);
      },
      [=](double& p, double g, double* velocity, double lr, double t) {
        g += o.weight_decay * p;
        double& v = velocity[0];
        v = o.momentum * v + (t == 1 ? 1 : 1 - o.damping) * g;
        p -= lr * (o.nesterov ? g + o.momentum * v : v);
      });
}

}  // namespace

OpCases sgd8_update_cases() {
  const auto update = [](const SgdUpdate& options, const Tensor& codes) {
    sgd8_update(ones({2}), ones({2}), {codes, zeros({1})}, ones({}, {.dtype = DType::i64}),
                ones({}), options);
  };
  return {.good = {updates("momentum", {5, 70}, {.momentum = 0.9}),
                   updates("nesterov", {3, 256},
                           {.momentum = 0.9, .nesterov = true, .weight_decay = 0.25}),
                   updates("damping", {5, 70}, {.momentum = 0.9, .damping = 0.25}),
                   updates("damping_first", {5, 70}, {.momentum = 0.9, .damping = 0.25}, 1),
                   updates("scalar", {}, {.momentum = 0.5}),
                   updates("empty", {0, 3}, {.momentum = 0.5}),
                   updates("many_blocks", {2000}, {.momentum = 0.5})},
          .bad = {{"no momentum", [=] { update({}, zeros({2}, {.dtype = DType::u8})); },
                   "sgd8_update: a velocity goes with momentum: momentum 0 with a velocity. Use "
                   "sgd_update() without one."},
                  {"codes type", [=] { update({.momentum = 0.9}, zeros({2})); },
                   "sgd8_update: the velocity has the wrong types: codes in f32 and scales in f32. "
                   "Make them u8 and f32."}}};
}

}  // namespace plimsoll
