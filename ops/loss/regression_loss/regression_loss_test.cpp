#include "ops/loss/regression_loss/regression_loss.h"

#include "autograd/gradients.h"
#include "ops/pointwise/copy/copy.h"
#include "ops/random/full/full.h"
#include "tests/support/loss_reference.h"
#include "tests/support/op_case.h"

namespace plimsoll {
namespace {

double squared(double x, double t) { return (x - t) * (x - t); }
double absolute(double x, double t) { return std::abs(x - t); }

auto smooth(double beta) {
  return [beta](double x, double t) {
    const double d = std::abs(x - t);
    return d < beta ? d * d / (2 * beta) : d - beta / 2;
  };
}

auto huber(double delta) {
  return [delta](double x, double t) {
    const double d = std::abs(x - t);
    return d <= delta ? d * d / 2 : delta * (d - delta / 2);
  };
}

// One loss under all three reductions.
template <class Op, class F>
OpCase losses(const char* name, InputSpec x, InputSpec t, Op op, F f) {
  return {.name = name,
          .inputs = {x, t},
          .call =
              [op](auto in) {
                return std::vector{op(in[0], in[1], Reduction::mean),
                                   op(in[0], in[1], Reduction::sum),
                                   op(in[0], in[1], Reduction::none)};
              },
          .reference = [f](const std::vector<Array>& in) { return reduced_losses(in, f); }};
}

// The mean is NaN, which has no slope to compare with.
template <class Op, class F>
OpCase empty(const char* name, Op op, F f) {
  OpCase c = losses(name, real({0, 3}), real({0, 3}), op, f);
  c.differentiable = false;
  return c;
}

template <class Op, class F>
OpCase special(const char* name, Op op, F f) {
  OpCase c =
      losses(name, given({5}, {kNaN, kInf, 0, 2, -3}), given({5}, {0, 0, -kInf, 2, -3}), op, f);
  c.differentiable = false;
  return c;
}

// The values of d where the slope is cut, and beyond: the gradients of x and of the target.
template <class Op>
OpCase slopes(const char* name, Op op, std::vector<double> expected) {
  return {.name = name,
          .inputs = {given({5}, {-3, -0.5, 0, 0.5, kInf})},
          .call =
              [op](auto in) {
                const std::array leaves{in[0].detach().require_grad(),
                                        zeros({5}, {in[0].dtype(), in[0].device()}).require_grad()};
                return gradients(op(leaves[0], leaves[1], Reduction::sum), leaves);
              },
          .reference =
              [expected](auto) {
                Array dx({5}), dt({5});
                for (int64_t i = 0; i < 5; ++i) {
                  dx[i] = expected[static_cast<size_t>(i)];
                  dt[i] = -dx[i];
                }
                return std::vector{dx, dt};
              },
          .differentiable = false};
}

Tensor smooth_half(const Tensor& x, const Tensor& t, Reduction reduction) {
  return smooth_l1_loss(x, t, 0.5, reduction);
}
Tensor smooth_zero(const Tensor& x, const Tensor& t, Reduction reduction) {
  return smooth_l1_loss(x, t, 0, reduction);
}
Tensor huber_half(const Tensor& x, const Tensor& t, Reduction reduction) {
  return huber_loss(x, t, 0.5, reduction);
}

}  // namespace

OpCases regression_loss_cases() {
  const InputSpec x = real({4, 5}, -2, 2), t = real({4, 5}, -2, 2);
  return {
      .good = {losses("mse", x, t, mse_loss, squared),
               losses("mse_scalar", real({}), real({}), mse_loss, squared),
               empty("mse_empty", mse_loss, squared), special("mse_special", mse_loss, squared),
               losses("l1", x, t, l1_loss, absolute), empty("l1_empty", l1_loss, absolute),
               special("l1_special", l1_loss, absolute),
               slopes("l1_slopes", l1_loss, {-1, -1, 0, 1, 1}),
               losses("smooth_l1", x, t, smooth_half, smooth(0.5)),
               losses("smooth_l1_zero", x, t, smooth_zero, absolute),
               empty("smooth_l1_empty", smooth_half, smooth(0.5)),
               special("smooth_l1_special", smooth_half, smooth(0.5)),
               slopes("smooth_l1_slopes", smooth_half, {-1, -1, 0, 1, 1}),
               losses("huber", x, t, huber_half, huber(0.5)),
               empty("huber_empty", huber_half, huber(0.5)),
               special("huber_special", huber_half, huber(0.5)),
               slopes("huber_slopes", huber_half, {-0.5, -0.5, 0, 0.5, 0.5})},
      .bad = {
          {"shapes",
           [] {
             mse_loss(ones({3}), ones({3, 1}));
           },
           "mse_loss: the shapes differ: [3] and [3, 1]. Give one target for each prediction."},
          {"types", [] { l1_loss(ones({2}), ones({2}, {.dtype = DType::f64})); },
           "l1_loss: the types differ: f32 and f64. Cast one of them."},
          {"integers",
           [] { huber_loss(ones({2}, {.dtype = DType::i64}), ones({2}, {.dtype = DType::i64})); },
           "huber_loss: a floating type is needed: got i64 [2] on cpu. Cast it first."},
          {"beta", [] { smooth_l1_loss(ones({2}), ones({2}), -1); },
           "smooth_l1_loss: beta is not a number from 0: -1. Use the distance up to which the "
           "loss is quadratic."},
          {"delta", [] { huber_loss(ones({2}), ones({2}), 0); },
           "huber_loss: delta is not a number above 0: 0. Use the distance up to which the "
           "loss is quadratic."}}};
}

}  // namespace plimsoll
