#include "ops/common/pointwise.cuh"
#include "ops/reduction/extrema/formulas.h"

namespace plimsoll {

namespace cuda {
namespace {

struct Share {
  template <class C>
  __device__ C operator()(C dy, C u, C v) const {
    return formulas::ShareOfLarger::f(dy, u, v);
  }
};

}  // namespace
}  // namespace cuda

template void binary_cuda<formulas::Maximum>(const Call&);
template void binary_cuda<formulas::Minimum>(const Call&);

void share_cuda(const Call& call) {
  cuda::visit_floating_elements(call.out[0].dtype(),
                                [&]<class C>() { cuda::map<C, 3>(call, cuda::Share()); });
}

template void unary_cuda<formulas::Clamp>(const Call&);
template void unary_grad_cuda<formulas::Clamp>(const Call&);

}  // namespace plimsoll
