#include "ops/pointwise.cuh"
#include "ops/pow/formulas.h"

namespace plimsoll {

template void binary_cuda<formulas::Power>(const Call&);
template void binary_cuda<formulas::PowerByBase>(const Call&);
template void binary_cuda<formulas::PowerByExponent>(const Call&);

namespace cuda {
namespace {

// x^c, with the products and roots that the CPU has too: every thread takes the same way.
template <class C>
struct PowerOf {
  C exponent, factor;
  __device__ C operator()(C x) const {
    if (exponent == 0) return 1;
    if (exponent == 1) return x;
    if (exponent == 2) return x * x;
    if (exponent == 3) return x * x * x;
    if (exponent == -1) return 1 / x;
    if (exponent == C(0.5)) return formulas::power_of_half(x);
    if (exponent == C(-0.5)) return 1 / formulas::power_of_half(x);
    return std::pow(x, exponent);
  }
  __device__ C operator()(C dy, C x) const { return dy * factor * (*this)(x); }
};

template <size_t inputs>
void power(const Call& call, double exponent, double factor) {
  visit_floating_elements(call.out[0].dtype(), [&]<class C>() {
    map<C, inputs>(call, PowerOf<C>{static_cast<C>(exponent), static_cast<C>(factor)});
  });
}

}  // namespace
}  // namespace cuda

void pow_cuda(const Call& call) { cuda::power<1>(call, call.attrs.as<PowAttrs>().exponent, 1); }

void pow_grad_cuda(const Call& call) {
  const double c = call.attrs.as<PowAttrs>().exponent;
  cuda::power<2>(call, c - 1, c);
}

}  // namespace plimsoll
