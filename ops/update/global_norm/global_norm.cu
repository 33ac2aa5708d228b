#include "core/cuda/elements.cuh"
#include "core/cuda/launch.cuh"
#include "core/engine/op.h"
#include "ops/common/scalar.cuh"
#include "ops/update/global_norm/attrs.h"

namespace plimsoll {
namespace {

using namespace cuda;

// y = x scaled down to a norm of max_norm.
template <class C>
__global__ void scale_kernel(Elements<C> x, Elements<C> y, int64_t n, Scalar norm,
                             double max_norm) {
  const double limit = max_norm / (norm.get() + 1e-6);
  const C scale = static_cast<C>(limit > 1 ? 1 : limit);
  for (int64_t i = first_index() * kPack; i < n; i += total_threads() * kPack) {
    C values[kPack];
    x.get(i, n, values);
    for (C& value : values) value *= scale;
    y.set(i, n, values);
  }
}

}  // namespace

void scale_to_norm_cuda(const Call& call) {
  const View &x = call.in[0], &y = call.out[0];
  const int64_t n = count(y.shape());
  visit_floating_elements(y.dtype(), [&]<class C>() {
    launch(scale_kernel<C>, blocks_for(packs_in(n)), kThreads, elements<C>(x), elements<C>(y), n,
           scalar(call.in[1]), call.attrs.as<ScaleAttrs>().max_norm);
  });
}

}  // namespace plimsoll
