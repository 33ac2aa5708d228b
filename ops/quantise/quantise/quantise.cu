#include "core/cuda/faults.cuh"
#include "core/engine/op.h"
#include "ops/quantise/common/decode.cuh"
#include "ops/quantise/quantise/kernels.h"

namespace plimsoll {
namespace cuda {
namespace {

uint64_t* fault() {
  return fault_word([](int64_t element, int64_t, int64_t) { throw_not_finite(element); }, 0);
}

__device__ bool note_unless_finite(float largest, int64_t first, uint64_t* fault) {
  const bool finite = largest <= 3.4028235e38F;
  if (!finite) note_fault(fault, first, 0);
  return finite;
}

// A block of threads has a row to itself.
template <class C>
__global__ void quantise_int8_kernel(Elements<C> w, int64_t columns, int8_t* codes, float* scales,
                                     uint64_t* fault) {
  const int64_t row = blockIdx.x, first = row * columns;
  float largest = 0;
  for (int64_t i = threadIdx.x; i < columns; i += blockDim.x)
    largest = Larger()(std::abs(static_cast<float>(w.get(first + i))), largest);
  largest = over_block(largest, Larger());
  if (threadIdx.x == 0) scales[row] = largest;
  if (!note_unless_finite(largest, first, fault)) return;
  const float factor = largest > 1e-36F ? 1 / largest * 127 : 0;
  for (int64_t i = threadIdx.x; i < columns; i += blockDim.x)
    codes[first + i] =
        static_cast<int8_t>(std::nearbyint(static_cast<float>(w.get(first + i)) * factor));
}

// A thread has a block of elements to itself: it writes whole bytes.
template <class C>
__global__ void quantise_nf4_kernel(Elements<C> w, int64_t n, int64_t blocks, uint8_t* codes,
                                    float* scales, uint64_t* fault) {
  for (int64_t b = first_index(); b < blocks; b += total_threads()) {
    const int64_t first = b * nf4::kBlock, left = n - first;
    const int64_t size = left < nf4::kBlock ? left : nf4::kBlock;
    float largest = 0;
    for (int64_t i = 0; i < size; ++i)
      largest = Larger()(std::abs(static_cast<float>(w.get(first + i))), largest);
    if (!note_unless_finite(largest, first, fault)) continue;
    const bool part = size < nf4::kBlock;
    const float divisor = std::max(largest, 1e-38F), factor = 1 / divisor;
    scales[b] = part ? divisor : largest;
    const auto code = [&](int64_t i) {
      const float x = i < size ? static_cast<float>(w.get(first + i)) : 0;
      return nf4::nearest(part ? x / divisor : x * factor);
    };
    for (int64_t i = 0; i < size; i += 2)
      codes[(first + i) / 2] = static_cast<uint8_t>(code(i) << 4 | code(i + 1));
  }
}

// A block of as many threads as scales share one.
__global__ void quantise_scales_kernel(const float* x, int64_t n, uint8_t* codes, float* scales) {
  const int64_t i = first_index();
  const float own = i < n ? x[i] : 0;
  const float largest = over_block(std::abs(own), Larger());
  if (threadIdx.x == 0) scales[blockIdx.x] = largest;
  if (i >= n) return;
  const bool any = largest > 1e-36F;
  const float scaled = any ? nf4::on_grid(own * (1 / largest)) : 0;
  codes[i] = !any ? 0 : static_cast<uint8_t>(dynamic_code_nearest(scaled, true));
}

}  // namespace
}  // namespace cuda

void quantise_int8_cuda(const Call& call) {
  const int64_t rows = call.in[0].shape()[0], columns = call.in[0].shape()[1];
  cuda::visit_floating_elements(call.in[0].dtype(), [&]<class C>() {
    cuda::launch(cuda::quantise_int8_kernel<C>, rows, cuda::row_threads(columns),
                 cuda::elements<C>(call.in[0]), columns, call.out[0].as<int8_t>(),
                 call.out[1].as<float>(), cuda::fault());
  });
}

void quantise_nf4_cuda(const Call& call) {
  const int64_t blocks = count(call.out[1].shape());
  cuda::visit_floating_elements(call.in[0].dtype(), [&]<class C>() {
    cuda::launch(cuda::quantise_nf4_kernel<C>, cuda::blocks_for(blocks), cuda::kThreads,
                 cuda::elements<C>(call.in[0]), count(call.in[0].shape()), blocks,
                 call.out[0].as<uint8_t>(), call.out[1].as<float>(), cuda::fault());
  });
}

void quantise_scales_cuda(const Call& call) {
  static_assert(nf4::kScalesBlock == cuda::kThreads);
  cuda::launch(cuda::quantise_scales_kernel, count(call.out[1].shape()), cuda::kThreads,
               call.in[0].as<float>(), call.in[0].shape()[0], call.out[0].as<uint8_t>(),
               call.out[1].as<float>());
}

void dequantise_cuda(const Call& call) {
  cuda::dequantise(call.in, call.attrs.as<QuantisedAttrs>(), call.out[0]);
}

}  // namespace plimsoll
