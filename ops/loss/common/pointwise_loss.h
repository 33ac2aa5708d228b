// Losses of a prediction x and a target t of one shape are one struct each, in a header that the
// kernels of a GPU share (ops/loss/common/pointwise_loss.cuh); the driver here makes the CPU's
// kernels, both gradients and the OpDefs.
//
//   struct Mse {
//     static constexpr const char *name = "mse_loss", *dx_name = "mse_loss_dx",
//                                 *dt_name = "mse_loss_dt";
//     template <class T> static constexpr T f(T x, T t, T) { return (x - t) * (x - t); }
//     template <class T> static constexpr T dx(T x, T t, T) { return 2 * (x - t); }
//     template <class T> static constexpr T dt(T x, T t, T) { return 2 * (t - x); }
//   };
//   Tensor losses = PointwiseLoss<Mse>::apply(x, target);
//
// The third argument is the loss' parameter (beta, delta), where it has one. f, dx and dt are
// computed in double for f64 and in float for everything else, and so are the losses returned:
// f16 and bf16 have too few digits for a sum of losses.
#pragma once

#include "core/engine/apply.h"
#include "ops/common/broadcast.h"
#include "ops/common/expect.h"
#include "ops/loss/common/loss_formula.h"
#include "ops/loss/common/reduction.h"

namespace plimsoll {

// DTypeError, ShapeError.
void check_loss(const char* name, const Meta& x, const Meta& target);

template <class F>
struct PointwiseLoss {
  static Metas infer(std::span<const Meta> in, const Attrs&) {
    check_loss(F::name, in[0], in[1]);
    return {{in[0].shape, compute_dtype(in[0].dtype), in[0].device}};
  }

  static void cpu(const Call& call) {
    visit_floating(F::name, call.in[0].dtype(), [&]<class T>() {
      using C = Compute<T>;
      const C p = static_cast<C>(call.attrs.as<LossAttrs>().parameter);
      map_pairs<T, C>(call, [p](C x, C t) { return F::f(x, t, p); });
    });
  }

  // Inputs: dy, x, t. The gradient of input `number` of the loss.
  static Metas grad_infer(std::span<const Meta> in, const Attrs&) { return {in[1]}; }

  template <int number>
  static void grad_cpu(const Call& call) {
    visit_floating(F::name, call.out[0].dtype(), [&]<class T>() {
      using C = Compute<T>;
      const C p = static_cast<C>(call.attrs.as<LossAttrs>().parameter);
      map_triples<C, T, T, T>(call, [p](C dy, C x, C t) {
        return dy * (number == 0 ? F::dx(x, t, p) : F::dt(x, t, p));
      });
    });
  }

  template <int number>
  static constexpr OpDef grad{.name = number == 0 ? F::dx_name : F::dt_name,
                              .infer = grad_infer,
                              .cpu = grad_cpu<number>,
                              .cuda = loss_grad_cuda<F, number>,
                              .inplace = 1,
                              .strided = everything};

  static std::vector<Tensor> vjp(const Backward& b) {
    const auto gradient = [&](int number, const OpDef& op) {
      return b.needs(number) ? apply1(op, {b.grad(), b.input(0), b.input(1)}, b.attrs<LossAttrs>())
                             : Tensor();
    };
    return {gradient(0, grad<0>), gradient(1, grad<1>)};
  }

  static constexpr OpDef op{.name = F::name,
                            .infer = infer,
                            .cpu = cpu,
                            .cuda = loss_cuda<F>,
                            .vjp = {.rule = vjp, .inputs = bits(0, 1)},
                            .strided = everything,
                            .cast = CastRule::widest};

  static Tensor apply(const Tensor& x, const Tensor& target, double parameter = 0) {
    return apply1(op, {x, target}, LossAttrs{parameter});
  }
};

}  // namespace plimsoll
