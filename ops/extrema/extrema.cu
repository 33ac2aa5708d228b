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
    return formulas::share_of_larger(dy, u, v);
  }
};

template <class C>
struct Clamp {
  C low, high;
  __device__ C operator()(C x) const { return formulas::clamp(x, low, high); }
  __device__ C operator()(C dy, C x) const { return x >= low && x <= high ? dy : C(0); }
};

template <size_t inputs>
void clamp(const Call& call) {
  const ClampAttrs attrs = call.attrs.as<ClampAttrs>();
  visit_floating_elements(call.out[0].dtype(), [&]<class C>() {
    map<C, inputs>(call, Clamp<C>{static_cast<C>(attrs.low), static_cast<C>(attrs.high)});
  });
}

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

void clamp_cuda(const Call& call) { cuda::clamp<1>(call); }
void clamp_grad_cuda(const Call& call) { cuda::clamp<2>(call); }

}  // namespace plimsoll
