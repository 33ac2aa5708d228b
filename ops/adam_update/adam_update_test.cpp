#include "ops/adam_update/adam_update.h"

#include "ops/copy/copy.h"
#include "ops/full/full.h"
#include "ops/update.h"
#include "tests/op_case.h"

namespace plimsoll {
namespace {

constexpr double kRate = 0.125;

// Inputs: parameter, gradient, m, v, step. The update writes into copies.
OpCase updates(const char* name, Shape shape, double step, AdamUpdate options) {
  return {.name = name,
          .inputs = {real(shape), real(shape), real(shape), real(shape, 0.01, 1),
                     given_index({}, {step})},
          .call =
              [=](std::span<const Tensor> in) {
                const DType state = state_dtype(in[0].dtype());
                const Tensor p = clone(in[0].detach()), m = clone(cast(in[2].detach(), state)),
                             v = clone(cast(in[3].detach(), state));
                const Tensor lr = full({}, kRate, {state, p.device()});
                adam_update(p, in[1], m, v, contiguous(in[4]), lr, options);
                return std::vector{p, m, v};
              },
          .reference =
              [=](const std::vector<Array>& in) {
                Array p = in[0], m = in[2], v = in[3];
                for (int64_t i = 0; i < count(shape); ++i) {
                  double g = in[1][i];
                  if (options.decoupled)
                    p[i] -= kRate * options.weight_decay * p[i];
                  else
                    g += options.weight_decay * p[i];
                  m[i] = options.beta1 * m[i] + (1 - options.beta1) * g;
                  v[i] = options.beta2 * v[i] + (1 - options.beta2) * g * g;
                  const double m_hat = m[i] / (1 - std::pow(options.beta1, step));
                  const double v_hat = v[i] / (1 - std::pow(options.beta2, step));
                  p[i] -= kRate * m_hat / (std::sqrt(v_hat) + options.eps);
                }
                return std::vector{p, m, v};
              },
          .differentiable = false};
}

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

void update_ones(Meta grad, Meta m, Meta v, Meta step) {
  const auto make = [](const Meta& meta) { return ones(meta.shape, {meta.dtype}); };
  adam_update(ones({2}), make(grad), make(m), make(v), make(step), ones({}));
}

}  // namespace

OpCases adam_update_cases() {
  const Meta like{{2}}, count{{}, DType::i64};
  return {
      .good = {updates("first_step", {5, 7}, 1, {}), updates("later", {5, 7}, 1000, {}),
               updates("decay", {5, 7}, 3, {.beta1 = 0.8, .beta2 = 0.95, .weight_decay = 0.25}),
               updates("decoupled", {5, 7}, 3, {.weight_decay = 0.25, .decoupled = true}),
               updates("large_eps", {5, 7}, 3, {.eps = 0.5}), updates("scalar", {}, 2, {}),
               updates("empty", {0, 3}, 2, {}),
               updates("many_pieces", {40001}, 2, {.weight_decay = 0.01, .decoupled = true}),
               increments("increment", 0), increments("increment_large", 0x1p40)},
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
           "adam_update: a beta is out of range: 1 and 0.999. Use 0 <= beta < 1."},
          {"eps",
           [] {
             const Tensor w = ones({2}), s = zeros({2});
             adam_update(w, w, s, s, ones({}, {.dtype = DType::i64}), ones({}), {.eps = -1});
           },
           "adam_update: an option is not a number from 0: eps -1, weight_decay 0. Use 0 or more."},
          {"increment", [] { increment(ones({})); },
           "increment: the step count must be i64: got f32 [] on cpu. Use zeros({}, {.dtype = "
           "DType::i64})."}}};
}

}  // namespace plimsoll
