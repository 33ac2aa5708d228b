#include "ops/sgd_update/sgd_update.h"

#include "ops/copy/copy.h"
#include "ops/full/full.h"
#include "ops/update.h"
#include "ops/view/view.h"
#include "tests/op_case.h"

namespace plimsoll {
namespace {

constexpr double kRate = 0.125;

// Inputs: parameter, gradient, velocity (unused without momentum). The update writes into copies.
OpCase updates(const char* name, Shape shape, SgdUpdate options) {
  return {.name = name,
          .inputs = {real(shape), real(shape), real(shape)},
          .call =
              [=](std::span<const Tensor> in) {
                const DType state = state_dtype(in[0].dtype());
                const Tensor p = clone(in[0].detach()), v = clone(cast(in[2].detach(), state));
                const Tensor lr = full({}, kRate, {state, p.device()});
                sgd_update(p, in[1], options.momentum != 0 ? v : Tensor(), lr, options);
                return std::vector{p, v};
              },
          .reference =
              [=](const std::vector<Array>& in) {
                Array p = in[0], v = in[2];
                for (int64_t i = 0; i < count(shape); ++i) {
                  double step = in[1][i] + options.weight_decay * p[i];
                  if (options.momentum != 0) {
                    const double g = step;
                    v[i] = options.momentum * v[i] + g;
                    step = options.nesterov ? g + options.momentum * v[i] : v[i];
                  }
                  p[i] -= kRate * step;
                }
                return std::vector{p, v};
              },
          .differentiable = false};
}

void update_ones(Shape param, Meta grad, Meta velocity, Meta lr, DType dtype = DType::f32) {
  const auto make = [](const Meta& meta) { return ones(meta.shape, {meta.dtype}); };
  sgd_update(ones(param, {dtype}), make(grad), make(velocity), make(lr), {.momentum = 0.9});
}

}  // namespace

OpCases sgd_update_cases() {
  return {
      .good = {updates("plain", {5, 7}, {}), updates("decay", {5, 7}, {.weight_decay = 0.5}),
               updates("momentum", {5, 7}, {.momentum = 0.9}),
               updates("nesterov", {5, 7},
                       {.momentum = 0.9, .nesterov = true, .weight_decay = 0.25}),
               updates("scalar", {}, {.momentum = 0.5}),
               updates("empty", {0, 3}, {.momentum = 0.5}),
               updates("many_pieces", {40001}, {.momentum = 0.5, .weight_decay = 0.5})},
      .bad = {
          {"shape",
           [] {
             update_ones({2, 3}, {{3, 2}}, {{2, 3}}, {{}});
           },
           "sgd_update: the gradient has another shape: parameter [2, 3], gradient [3, 2]. Pass "
           "the gradient of this parameter."},
          {"dtype",
           [] {
             update_ones({2}, {{2}, DType::f16}, {{2}}, {{}});
           },
           "sgd_update: the gradient has another type: parameter f32, gradient f16. Cast it "
           "first."},
          {"velocity shape", [] { update_ones({2}, {{2}}, {{1}}, {{}}); },
           "sgd_update: the velocity has another shape: parameter [2], velocity [1]. Make it "
           "zeros of the parameter's shape."},
          {"velocity type",
           [] {
             update_ones({2}, {{2}, DType::f16}, {{2}, DType::f16}, {{}}, DType::f16);
           },
           "sgd_update: the velocity has the wrong type: got f16 for a parameter in f16. Make "
           "it f32."},
          {"rate shape", [] { update_ones({2}, {{2}}, {{2}}, {{1}}); },
           "sgd_update: the learning rate must be a scalar: got f32 [1] on cpu. Use full({}, "
           "value)."},
          {"rate type",
           [] {
             update_ones({2}, {{2}}, {{2}}, {{}, DType::i64});
           },
           "sgd_update: the learning rate must be f32 or f64: got i64 [] on cpu. Use full({}, "
           "value)."},
          {"integers",
           [] {
             update_ones({2}, {{2}, DType::i32}, {{2}}, {{}}, DType::i32);
           },
           "sgd_update: a floating parameter is needed: got i32 [2] on cpu. Cast it first."},
          {"no velocity",
           [] { sgd_update(ones({2}), ones({2}), Tensor(), full({}, 1), {.momentum = 0.5}); },
           "sgd_update: a velocity goes with momentum: momentum 0.5 without a velocity. Pass "
           "both or neither."},
          {"no momentum", [] { sgd_update(ones({2}), ones({2}), ones({2}), full({}, 1)); },
           "sgd_update: a velocity goes with momentum: momentum 0 with a velocity. Pass both or "
           "neither."},
          {"negative",
           [] { sgd_update(ones({2}), ones({2}), Tensor(), full({}, 1), {.weight_decay = -1}); },
           "sgd_update: an option is not a number from 0: momentum 0, weight_decay -1. Use 0 or "
           "more."},
          {"nesterov",
           [] { sgd_update(ones({2}), ones({2}), Tensor(), full({}, 1), {.nesterov = true}); },
           "sgd_update: nesterov needs momentum: got momentum 0. Set momentum, to 0.9 for "
           "example."},
          {"on the tape",
           [] { sgd_update(ones({2}).require_grad(), ones({2}), Tensor(), full({}, 1)); },
           "sgd_update: input 0 is written in place but is part of the tape: f32 [2] on cpu. Do "
           "it under NoGrad."},
          {"strided",
           [] {
             sgd_update(transpose(ones({2, 3})), ones({3, 2}), Tensor(), full({}, 1));
           },
           "sgd_update: input 0 is not contiguous: f32 [3, 2] on cpu. Call contiguous() on it "
           "first."}}};
}

}  // namespace plimsoll
