#include "ops/update/adam_update/adam_update.h"

#include "tests/support/update_case.h"

namespace plimsoll {
namespace {

using enum SlotValues;

OpCase updates(const char* name, Shape shape, double step, AdamUpdate o, bool amsgrad = false) {
  std::vector<SlotValues> slots{any, positive};
  if (amsgrad) slots.push_back(positive);
  return update_case(
      name, shape, step, slots,
      [=](const UpdateInputs& in) {
        adam_update(in.param, in.grad, in.slots[0], in.slots[1], in.step, in.lr, o,
                    amsgrad ? in.slots[2] : Tensor());
      },
      [=](double& p, double g, double* state, double lr, double t) {
        if (o.decoupled)
          p -= lr * o.weight_decay * p;
        else
          g += o.weight_decay * p;
        state[0] = o.beta1 * state[0] + (1 - o.beta1) * g;
        state[1] = o.beta2 * state[1] + (1 - o.beta2) * g * g;
        double second = state[1];
        if (amsgrad) second = state[2] = std::max(state[2], second);
        const double m_hat = state[0] / (1 - std::pow(o.beta1, t));
        const double v_hat = second / (1 - std::pow(o.beta2, t));
        p -= lr * m_hat / (std::sqrt(v_hat) + o.eps);
      });
}

void update_ones(Meta grad, Meta m, Meta v, Meta step) {
  const auto make = [](const Meta& meta) { return ones(meta.shape, {meta.dtype}); };
  adam_update(ones({2}), make(grad), make(m), make(v), make(step), ones({}));
}

}  // namespace

OpCases adam_update_cases() {
  const Meta like{{2}}, count{{}, DType::i64};
  return {
      .good = {updates("first_step", {5, 7}, 1, {}), updates("eight_columns", {5, 8}, 3, {}),
               updates("later", {5, 7}, 1000, {}),
               updates("decay", {5, 7}, 3, {.beta1 = 0.8, .beta2 = 0.95, .weight_decay = 0.25}),
               updates("decoupled", {5, 7}, 3, {.weight_decay = 0.25, .decoupled = true}),
               updates("amsgrad", {5, 7}, 3, {}, true),
               updates("large_eps", {5, 7}, 3, {.eps = 0.5}), updates("scalar", {}, 2, {}),
               updates("empty", {0, 3}, 2, {}),
               updates("many_pieces", {40001}, 2, {.weight_decay = 0.01, .decoupled = true})},
      .bad = {
          {"shape", [=] { update_ones({{3}}, like, like, count); },
           "adam_update: the gradient has another shape: parameter [2], gradient [3]. Pass the "
           "gradient of this parameter."},
          {"m", [=] { update_ones(like, {{3}}, like, count); },
           "adam_update: the first moment has another shape: parameter [2], first moment [3]. "
           "Make it zeros of the parameter's shape."},
          {"v",
           [=] {
             update_ones(like, like, {{2}, DType::f64}, count);
           },
           "adam_update: the second moment has the wrong type: got f64 for a parameter in f32. "
           "Make it f32."},
          {"step type", [=] { update_ones(like, like, like, {{}}); },
           "adam_update: the step count must be i64: got f32 [] on cpu. Use zeros({}, {.dtype = "
           "DType::i64})."},
          {"step shape",
           [=] {
             update_ones(like, like, like, {{1}, DType::i64});
           },
           "adam_update: the step count must be a scalar: got i64 [1] on cpu. Use zeros({}, "
           "{.dtype = DType::i64})."},
          {"step zero",
           [] {
             adam_update(ones({2}), ones({2}), zeros({2}), zeros({2}),
                         zeros({}, {.dtype = DType::i64}), ones({}));
           },
           "adam_update: the step is counted from 1: got 0. Call increment() on it first."},
          {"beta",
           [] {
             const Tensor w = ones({2}), s = zeros({2});
             adam_update(w, w, s, s, ones({}, {.dtype = DType::i64}), ones({}), {.beta1 = 1});
           },
           "adam_update: beta1 is out of range: 1. Use 0 <= beta1 < 1."},
          {"eps",
           [] {
             const Tensor w = ones({2}), s = zeros({2});
             adam_update(w, w, s, s, ones({}, {.dtype = DType::i64}), ones({}), {.eps = -1});
           },
           "adam_update: eps is not a number from 0: -1. Use 0 or more."}}};
}

}  // namespace plimsoll
