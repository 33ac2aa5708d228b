#include "ops/extrema/formulas.h"
#include "ops/many.cuh"
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

template <class C>
__global__ void clip_kernel(Many<C, 2> many, ClampAttrs attrs) {
  const auto chunk = many.chunk(blockIdx.x);
  write_row(
      chunk.n, chunk.packs, chunk.row[1],
      [&](int64_t, C v) { return formulas::Clamp::f(v, attrs); }, chunk.row[0]);
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

// Of one call, or of several that were joined.
void clip_value_cuda(const Call& call) {
  std::vector<cuda::Together<2>> tensors;
  for (size_t i = 0; i < call.out.size(); ++i) tensors.push_back({&call.in[i], &call.out[i]});
  cuda::for_many<2>(tensors, [&]<class C>(const cuda::Many<C, 2>& many, int64_t) {
    cuda::launch(cuda::clip_kernel<C>, many.chunks(), cuda::kThreads, many,
                 call.attrs.as<ClampAttrs>());
  });
}

template void unary_cuda<formulas::Clamp>(const Call&);
template void unary_grad_cuda<formulas::Clamp>(const Call&);

}  // namespace plimsoll
