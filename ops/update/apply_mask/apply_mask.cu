#include "core/engine/op.h"
#include "ops/common/many.cuh"

namespace plimsoll {
namespace {

using namespace cuda;

// Of a chunk: x and its mask. What the mask keeps is not touched.
template <class C>
__global__ void apply_mask_kernel(Many<C, 2> many) {
  const auto chunk = many.chunk(blockIdx.x);
  for (int64_t i = threadIdx.x; i < chunk.n; i += blockDim.x)
    if (chunk.row[1].get(i) == 0) chunk.row[0].set(i, 0);
}

// The bits of +0 are zeros in every type: one of x's width stands for it.
DType stand_in(const View& x) {
  const int64_t width = size_of(x.dtype());
  if (width == 8) return DType::f64;
  if (width == 4) return DType::f32;
  return width == 2 ? DType::f16 : DType::boolean;
}

}  // namespace

// Of one call, or of several that were joined.
void apply_mask_cuda(const Call& call) {
  std::vector<View> views(call.in.begin(), call.in.end());
  std::vector<Together<2>> tensors;
  for (size_t i = 0; i < views.size(); i += 2) {
    views[i].meta.dtype = stand_in(views[i]);
    tensors.push_back({&views[i], &views[i + 1]});
  }
  for_many<2>(tensors, [&]<class C>(const Many<C, 2>& many, int64_t) {
    launch(apply_mask_kernel<C>, many.chunks(), kThreads, many);
  });
}

}  // namespace plimsoll
