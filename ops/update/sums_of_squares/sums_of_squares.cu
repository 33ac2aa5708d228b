#include "core/cuda/elements.cuh"
#include "core/cuda/launch.cuh"
#include "core/engine/op.h"
#include "ops/update/sums_of_squares/attrs.h"

namespace plimsoll {
namespace {

using namespace cuda;

// A thread for each chunk, which is short, so that the order is that of the CPU.
template <class C>
__global__ void squares_kernel(Elements<C> x, int64_t n, int64_t chunk, int64_t chunks,
                               double* sums) {
  for (int64_t c = first_index(); c < chunks; c += total_threads()) {
    const int64_t begin = c * chunk, end = n < begin + chunk ? n : begin + chunk;
    double total = 0;
    for (int64_t i = begin; i < end; ++i) {
      const auto v = static_cast<double>(x.get(i));
      total += v * v;
    }
    sums[c] = total;
  }
}

}  // namespace

void sums_of_squares_cuda(const Call& call) {
  const auto& attrs = call.attrs.as<SquareAttrs>();
  auto* sums = call.out[0].as<double>();
  for (const View& x : call.in) {
    const int64_t chunks = chunks_of(x.meta, attrs);
    if (chunks == 0) continue;
    visit_floating_elements(x.dtype(), [&]<class C>() {
      launch(squares_kernel<C>, blocks_for(chunks), kThreads, elements<C>(x), count(x.shape()),
             attrs.chunk, chunks, sums);
    });
    sums += chunks;
  }
}

}  // namespace plimsoll
