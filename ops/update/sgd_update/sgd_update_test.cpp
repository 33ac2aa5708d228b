#include "ops/update/sgd_update/sgd_update.h"

#include "ops/shape/view/view.h"
#include "tests/support/update_case.h"

namespace plimsoll {
namespace {

using enum SlotValues;

OpCase updates(const char* name, Shape shape, SgdUpdate o, double step = 2) {
  std::vector<SlotValues> slots;
  if (o.momentum != 0) slots.push_back(any);
  return update_case(
      name, shape, step, slots,
      [=](const UpdateInputs& in) {
        sgd_update(in.param, in.grad, o.momentum != 0 ? in.slots[0] : Tensor(), in.step, in.lr, o);
      },
      [=](double& p, double g, double* velocity, double lr, double t) {
        g += o.weight_decay * p;
        double d = g;
        if (o.momentum != 0) {
          double& v = velocity[0];
          v = o.momentum * v + (t == 1 ? 1 : 1 - o.damping) * g;
          d = o.nesterov ? g + o.momentum * v : v;
        }
        p -= lr * d;
      });
}

Tensor first() { return ones({}, {.dtype = DType::i64}); }

void update_ones(Shape param, Meta grad, Meta velocity, Meta lr, DType dtype = DType::f32) {
  const auto make = [](const Meta& meta) { return ones(meta.shape, {meta.dtype}); };
  sgd_update(ones(param, {dtype}), make(grad), make(velocity), first(), make(lr),
             {.momentum = 0.9});
}

}  // namespace

OpCases sgd_update_cases() {
  return {
      .good = {updates("plain", {5, 7}, {}), updates("decay", {5, 7}, {.weight_decay = 0.5}),
               updates("momentum", {5, 7}, {.momentum = 0.9}),
               updates("nesterov", {5, 7},
                       {.momentum = 0.9, .nesterov = true, .weight_decay = 0.25}),
               updates("damping", {5, 7}, {.momentum = 0.9, .damping = 0.25}),
               updates("damping_first", {5, 7}, {.momentum = 0.9, .damping = 0.25}, 1),
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
           [] {
             sgd_update(ones({2}), ones({2}), Tensor(), first(), full({}, 1), {.momentum = 0.5});
           },
           "sgd_update: a velocity goes with momentum: momentum 0.5 without a velocity. Pass "
           "both or neither."},
          {"no momentum", [] { sgd_update(ones({2}), ones({2}), ones({2}), first(), full({}, 1)); },
           "sgd_update: a velocity goes with momentum: momentum 0 with a velocity. Pass both or "
           "neither."},
          {"negative",
           [] {
             sgd_update(ones({2}), ones({2}), Tensor(), first(), full({}, 1), {.weight_decay = -1});
           },
           "sgd_update: weight_decay is not a number from 0: -1. Use 0 or more."},
          {"nesterov",
           [] {
             sgd_update(ones({2}), ones({2}), Tensor(), first(), full({}, 1), {.nesterov = true});
           },
           "sgd_update: nesterov needs momentum and no damping: got momentum 0 and damping 0. Set "
           "momentum, to 0.9 for example."},
          {"on the tape",
           [] { sgd_update(ones({2}).require_grad(), ones({2}), Tensor(), first(), full({}, 1)); },
           "sgd_update: input 0 is written in place but is part of the tape: f32 [2] on cpu. Do "
           "it under NoGrad."},
          {"strided",
           [] {
             sgd_update(transpose(ones({2, 3})), ones({3, 2}), Tensor(), first(), full({}, 1));
           },
           "sgd_update: input 0 is not contiguous: f32 [3, 2] on cpu. Call contiguous() on it "
           "first."}}};
}

}  // namespace plimsoll
