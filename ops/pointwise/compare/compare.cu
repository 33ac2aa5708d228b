#include "ops/common/pointwise.cuh"
#include "ops/pointwise/compare/kernels.h"

namespace plimsoll {
namespace {

template <class F>
struct Compare {
  template <class C>
  __device__ C operator()(C a, C b) const {
    if constexpr (requires { F()(1.0, 1.0); })
      return F()(a, b);
    else  // logical: of truth values
      return F()(a != 0, b != 0);
  }
};

}  // namespace

template <class F>
void compare_cuda(const Call& call) {
  cuda::visit_elements(call.in[0].dtype(), [&]<class C>() { cuda::map<C, 2>(call, Compare<F>()); });
}

template void compare_cuda<std::equal_to<>>(const Call&);
template void compare_cuda<std::not_equal_to<>>(const Call&);
template void compare_cuda<std::less<>>(const Call&);
template void compare_cuda<std::less_equal<>>(const Call&);
template void compare_cuda<std::greater<>>(const Call&);
template void compare_cuda<std::greater_equal<>>(const Call&);
template void compare_cuda<std::bit_and<>>(const Call&);
template void compare_cuda<std::bit_or<>>(const Call&);
template void compare_cuda<std::bit_xor<>>(const Call&);

}  // namespace plimsoll
