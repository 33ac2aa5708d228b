#include "ops/extrema/formulas.h"
#include "ops/pointwise.cuh"

namespace plimsoll {

namespace cuda {
namespace {

struct Extremum {
  bool largest;
  template <class C>
  __device__ C operator()(C a, C b) const {
    return largest ? formulas::Maximum::f(a, b) : formulas::Minimum::f(a, b);
  }
};

void extremum(const Call& call, bool largest) {
  visit_elements(call.out[0].dtype(), [&]<class C>() { map<C, 2>(call, Extremum{largest}); });
}

struct Share {
  template <class C>
  __device__ C operator()(C dy, C u, C v) const {
    return formulas::ShareOfLarger::f(dy, u, v);
  }
};

}  // namespace
}  // namespace cuda

template <>
void binary_cuda<formulas::Maximum>(const Call& call) {
  cuda::extremum(call, true);
}
template <>
void binary_cuda<formulas::Minimum>(const Call& call) {
  cuda::extremum(call, false);
}

void share_cuda(const Call& call) {
  cuda::visit_floating_elements(call.out[0].dtype(),
                                [&]<class C>() { cuda::map<C, 3>(call, cuda::Share()); });
}

template void unary_cuda<formulas::Clamp>(const Call&);
template void unary_grad_cuda<formulas::Clamp>(const Call&);

}  // namespace plimsoll
