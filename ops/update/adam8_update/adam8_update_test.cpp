#include "ops/update/adam8_update/adam8_update.h"

#include "tests/support/coded_update_case.h"

namespace plimsoll {
namespace {

OpCase updates(const char* name, Shape shape, double step, AdamUpdate o) {
  return coded_update_case(
      name, shape, step, {true, false},
      [=](const CodedInputs& in) {
        adam8_update(in.param, in.grad, in.slots[0], in.slots[1], in.step, in.lr, o);
      },
      [=](double& p, double g, double* state, double lr, double t) {
        if (o.decoupled)
          p -= lr * o.weight_decay * p;
        else
          g += o.weight_decay * p;
        state[0] = o.beta1 * state[0] + (1 - o.beta1) * g;
        state[1] = o.beta2 * state[1] + (1 - o.beta2) * g * g;
        const double m_hat = state[0] / (1 - std::pow(o.beta1, t));
        const double v_hat = state[1] / (1 - std::pow(o.beta2, t));
        p -= lr * m_hat / (std::sqrt(v_hat) + o.eps);
      });
}

void update_ones(Shape shape, Meta codes, Meta scales, int64_t step = 1, AdamUpdate options = {}) {
  const auto make = [](const Meta& meta) { return zeros(meta.shape, {meta.dtype}); };
  adam8_update(ones(shape), ones(shape), {make(codes), make(scales)}, {make(codes), make(scales)},
               full({}, static_cast<double>(step), {DType::i64}), ones({}), options);
}

}  // namespace

OpCases adam8_update_cases() {
  const Meta codes{{300}, DType::u8}, scales{{2}};
  return {
      .good = {updates("first_step", {5, 70}, 1, {}), updates("later", {5, 70}, 1000, {}),
               updates("decay", {3, 256}, 3, {.beta1 = 0.8, .beta2 = 0.95, .weight_decay = 0.25}),
               updates("decoupled", {5, 70}, 3, {.weight_decay = 0.25, .decoupled = true}),
               updates("large_eps", {257}, 3, {.eps = 0.5}), updates("scalar", {}, 2, {}),
               updates("empty", {0, 3}, 2, {}), updates("many_blocks", {2000}, 2, {})},
      .bad = {
          {"codes type", [=] { update_ones({300}, {{300}}, scales); },
           "adam8_update: the first moment has the wrong types: codes in f32 and scales in f32. "
           "Make them u8 and f32."},
          {"codes shape",
           [=] {
             update_ones({300}, {{299}, DType::u8}, scales);
           },
           "adam8_update: the first moment has another shape: parameter [300], codes [299]. Make "
           "it zeros of the parameter's shape."},
          {"scales shape", [=] { update_ones({300}, codes, {{1}}); },
           "adam8_update: the first moment has not a scale for each block of 256 elements: "
           "parameter [300], scales [1]. Give them the shape [2]."},
          {"step zero", [=] { update_ones({300}, codes, scales, 0); },
           "adam8_update: the step is counted from 1: got 0. Call increment() on it first."},
          {"beta", [=] { update_ones({300}, codes, scales, 1, {.beta1 = 1}); },
           "adam8_update: beta1 is out of range: 1. Use 0 <= beta1 < 1."}}};
}

}  // namespace plimsoll
