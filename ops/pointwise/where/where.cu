#include "ops/common/pointwise.cuh"

namespace plimsoll {
namespace cuda {
namespace {

struct Select {
  template <class C>
  __device__ C operator()(C condition, C a, C b) const {
    return condition != 0 ? a : b;
  }
};

}  // namespace
}  // namespace cuda

void where_cuda(const Call& call) {
  cuda::visit_elements(call.out[0].dtype(),
                       [&]<class C>() { cuda::map<C, 3>(call, cuda::Select()); });
}

}  // namespace plimsoll
