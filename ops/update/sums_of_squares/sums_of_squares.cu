#include "core/cuda/elements.cuh"
#include "core/cuda/launch.cuh"
#include "core/engine/op.h"
#include "ops/update/sums_of_squares/attrs.h"

namespace plimsoll {
namespace {

using namespace cuda;

// Blocks take chunk after chunk.
template <class C>
__global__ void squares_kernel(Elements<C> x, int64_t n, int64_t chunk, int64_t chunks,
                               double* sums) {
  for (int64_t c = blockIdx.x; c < chunks; c += gridDim.x) {
    const int64_t begin = c * chunk, end = n < begin + chunk ? n : begin + chunk;
    double total = 0;
    for (int64_t i = begin + threadIdx.x * kPack; i < end; i += blockDim.x * kPack) {
      C values[kPack];
      x.get(i, end, values);  // 0 from `end` on
      for (const C value : values) total += static_cast<double>(value) * static_cast<double>(value);
    }
    total = over_block(total, Plus());
    if (threadIdx.x == 0) sums[c] = total;
  }
}

}  // namespace

void sums_of_squares_cuda(const Call& call) {
  const auto& attrs = call.attrs.as<SquareAttrs>();
  auto* sums = call.out[0].as<double>();
  const int threads = row_threads(packs_in(attrs.chunk));
  for (const View& x : call.in) {
    const int64_t chunks = chunks_of(x.meta, attrs);
    if (chunks == 0) continue;
    visit_floating_elements(x.dtype(), [&]<class C>() {
      launch(squares_kernel<C>, std::min(chunks, kMostBlocks), threads, elements<C>(x),
             count(x.shape()), attrs.chunk, chunks, sums);
    });
    sums += chunks;
  }
}

}  // namespace plimsoll
