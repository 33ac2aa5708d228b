#include "ops/common/pointwise.cuh"
#include "ops/pointwise/compare/kernels.h"

namespace plimsoll {
namespace cuda {
namespace {

enum class Comparison { eq, ne, lt, le, gt, ge, logical_and, logical_or, logical_xor };

// One kernel for all: the switch costs nothing beside the memory, and 18 kernels take long to
// compile.
struct Compare {
  Comparison comparison;
  template <class C>
  __device__ C operator()(C a, C b) const {
    switch (comparison) {
      case Comparison::eq:
        return a == b;
      case Comparison::ne:
        return a != b;
      case Comparison::lt:
        return a < b;
      case Comparison::le:
        return a <= b;
      case Comparison::gt:
        return a > b;
      case Comparison::ge:
        return a >= b;
      case Comparison::logical_and:
        return a != 0 && b != 0;
      case Comparison::logical_or:
        return a != 0 || b != 0;
      case Comparison::logical_xor:
        break;
    }
    return (a != 0) != (b != 0);
  }
};

void compare(const Call& call, Comparison comparison) {
  visit_elements(call.in[0].dtype(), [&]<class C>() { map<C, 2>(call, Compare{comparison}); });
}

}  // namespace
}  // namespace cuda

template <>
void compare_cuda<std::equal_to<>>(const Call& call) {
  cuda::compare(call, cuda::Comparison::eq);
}
template <>
void compare_cuda<std::not_equal_to<>>(const Call& call) {
  cuda::compare(call, cuda::Comparison::ne);
}
template <>
void compare_cuda<std::less<>>(const Call& call) {
  cuda::compare(call, cuda::Comparison::lt);
}
template <>
void compare_cuda<std::less_equal<>>(const Call& call) {
  cuda::compare(call, cuda::Comparison::le);
}
template <>
void compare_cuda<std::greater<>>(const Call& call) {
  cuda::compare(call, cuda::Comparison::gt);
}
template <>
void compare_cuda<std::greater_equal<>>(const Call& call) {
  cuda::compare(call, cuda::Comparison::ge);
}
template <>
void compare_cuda<std::bit_and<>>(const Call& call) {
  cuda::compare(call, cuda::Comparison::logical_and);
}
template <>
void compare_cuda<std::bit_or<>>(const Call& call) {
  cuda::compare(call, cuda::Comparison::logical_or);
}
template <>
void compare_cuda<std::bit_xor<>>(const Call& call) {
  cuda::compare(call, cuda::Comparison::logical_xor);
}

}  // namespace plimsoll
