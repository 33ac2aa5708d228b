#include "ops/loss/bce_with_logits/formulas.h"
#include "ops/loss/common/pointwise_loss.cuh"

namespace plimsoll {

template void loss_cuda<loss_formulas::Bce>(const Call&);
template void loss_grad_cuda<loss_formulas::Bce, 0>(const Call&);
template void loss_grad_cuda<loss_formulas::Bce, 1>(const Call&);

namespace {

struct Weighted {
  template <class C>
  __device__ C operator()(C x, C t, C p) const {
    return loss_formulas::BceWeighted::f(x, t, p);
  }
};

}  // namespace

void bce_with_logits_weighted_cuda(const Call& call) {
  cuda::visit_floating_elements(call.out[0].dtype(),
                                [&]<class C>() { cuda::map<C, 3>(call, Weighted()); });
}

}  // namespace plimsoll
