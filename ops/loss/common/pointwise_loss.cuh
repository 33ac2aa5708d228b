// Pointwise losses on a GPU: the twin of ops/loss/common/pointwise_loss.h.
//
//   template void loss_cuda<loss_formulas::Mse>(const Call&);  // in ops/loss/regression_loss/*.cu
//   template void loss_grad_cuda<loss_formulas::Mse, 0>(const Call&);
#pragma once

#include "ops/common/pointwise.cuh"
#include "ops/loss/common/loss_formula.h"

namespace plimsoll {

template <class F, class C>
struct LossOnCuda {
  C parameter;
  __device__ C operator()(C x, C t) const { return F::f(x, t, parameter); }
};

// Of input `number`, which is known at run time: one kernel less to compile for each formula.
template <class F, class C>
struct LossGradientOnCuda {
  C parameter;
  int number;
  __device__ C operator()(C dy, C x, C t) const {
    return dy * (number == 0 ? F::dx(x, t, parameter) : F::dt(x, t, parameter));
  }
};

template <class F>
void loss_cuda(const Call& call) {
  cuda::visit_floating_elements(call.out[0].dtype(), [&]<class C>() {
    const C parameter = static_cast<C>(call.attrs.as<LossAttrs>().parameter);
    cuda::map<C, 2>(call, LossOnCuda<F, C>{parameter});
  });
}

template <class F, int number>
void loss_grad_cuda(const Call& call) {
  cuda::visit_floating_elements(call.out[0].dtype(), [&]<class C>() {
    const C parameter = static_cast<C>(call.attrs.as<LossAttrs>().parameter);
    cuda::map<C, 3>(call, LossGradientOnCuda<F, C>{parameter, number});
  });
}

}  // namespace plimsoll
