#include "core/cuda/elements.cuh"
#include "core/cuda/launch.cuh"
#include "core/engine/op.h"
#include "ops/common/scalar.cuh"
#include "ops/update/global_norm/attrs.h"

namespace plimsoll {
namespace {

using namespace cuda;

// A block for each chunk: many threads, as chunks are few.
constexpr int kSquareThreads = 1024;
template <class C>
__global__ void squares_kernel(Elements<C> x, int64_t n, double* partial) {
  const int64_t begin = blockIdx.x * kChunk, end = n < begin + kChunk ? n : begin + kChunk;
  double total = 0;
  for (int64_t i = begin + threadIdx.x * kPack; i < end; i += blockDim.x * kPack) {
    C values[kPack];
    x.get(i, end, values);  // 0 from `end` on
    for (const C value : values) total += static_cast<double>(value) * static_cast<double>(value);
  }
  total = over_block(total, Plus());
  if (threadIdx.x == 0) partial[blockIdx.x] = total;
}

// One block.
template <class C>
__global__ void root_kernel(const double* partial, int64_t n, C* norm) {
  double total = 0;
  for (int64_t i = threadIdx.x; i < n; i += blockDim.x) total += partial[i];
  total = over_block(total, Plus());
  if (threadIdx.x == 0) *norm = static_cast<C>(std::sqrt(total));
}

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

void global_norm_cuda(const Call& call) {
  auto* partial = reinterpret_cast<double*>(call.workspace.data());
  int64_t used = 0;
  for (const View& x : call.in) {
    const int64_t chunks = chunks_of(x.meta);
    if (chunks == 0) continue;
    visit_floating_elements(x.dtype(), [&]<class C>() {
      launch(squares_kernel<C>, chunks, kSquareThreads, elements<C>(x), count(x.shape()),
             partial + used);
    });
    used += chunks;
  }
  visit_floating_elements(call.out[0].dtype(), [&]<class C>() {
    launch(root_kernel<C>, 1, kThreads, partial, used, call.out[0].as<C>());
  });
}

void scale_to_norm_cuda(const Call& call) {
  const View &x = call.in[0], &y = call.out[0];
  const int64_t n = count(y.shape());
  visit_floating_elements(y.dtype(), [&]<class C>() {
    launch(scale_kernel<C>, blocks_for(packs_in(n)), kThreads, elements<C>(x), elements<C>(y), n,
           scalar(call.in[1]), call.attrs.as<ScaleAttrs>().max_norm);
  });
}

}  // namespace plimsoll
