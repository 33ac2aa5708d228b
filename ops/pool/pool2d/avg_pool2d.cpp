#include "core/cpu/vector.h"
#include "core/cuda/seam/cuda_kernel.h"
#include "core/engine/apply.h"
#include "ops/pointwise/copy/copy.h"
#include "ops/pool/pool2d/windows.h"

namespace plimsoll {

PLIMSOLL_CUDA_KERNEL(avg_pool2d_cuda);
PLIMSOLL_CUDA_KERNEL(avg_pool2d_grad_cuda);

namespace {

constexpr PoolNames kNames{"avg_pool2d", "adaptive_avg_pool2d"};

Metas infer(std::span<const Meta> in, const Attrs& attrs) {
  return {pooled(kNames, in[0], attrs.as<PoolSpec>())};
}

template <class T>
void forward(const PoolWindows& windows, const T* x, T* y) {
  using C = Compute<T>;
  for_each_block(windows.results(), windows.c, windows.area(),
                 [&](int64_t result, int64_t first, int64_t n) {
                   std::array<C, kPoolBlock> sum{};
                   windows.for_each_pixel(result, [&](int64_t, int64_t pixel) {
                     const T* from = x + pixel * windows.c + first;
#pragma omp simd
                     for (int64_t c = 0; c < n; ++c) sum[c] += static_cast<C>(from[c]);
                   });
                   const C counted = static_cast<C>(windows.counted(result));
                   T* to = y + result * windows.c + first;
#pragma omp simd
                   for (int64_t c = 0; c < n; ++c) to[c] = narrow<T>(sum[c] / counted);
                 });
}

// Each pixel of the image gathers its share of the windows it is in.
template <class T>
void backward(const PoolWindows& windows, const T* dy, T* dx) {
  using C = Compute<T>;
  for_each_block(windows.pixels(), windows.c, windows.area(),
                 [&](int64_t pixel, int64_t first, int64_t n) {
                   std::array<C, kPoolBlock> sum{};
                   windows.for_each_window(pixel, [&](int64_t, int64_t window) {
                     const T* from = dy + window * windows.c + first;
                     const C share = C(1) / static_cast<C>(windows.counted(window));
#pragma omp simd
                     for (int64_t c = 0; c < n; ++c) sum[c] += static_cast<C>(from[c]) * share;
                   });
                   T* to = dx + pixel * windows.c + first;
#pragma omp simd
                   for (int64_t c = 0; c < n; ++c) to[c] = narrow<T>(sum[c]);
                 });
}

void cpu(const Call& call) {
  const PoolWindows windows(call.in[0].shape(), call.out[0].shape(), call.attrs.as<PoolSpec>());
  visit_floating("avg_pool2d", call.out[0].dtype(),
                 [&]<class T>() { forward(windows, call.in[0].as<T>(), call.out[0].as<T>()); });
}

Metas grad_infer(std::span<const Meta> in, const Attrs& attrs) {
  return {{attrs.as<PoolGradAttrs>().image, in[0].dtype, in[0].device}};
}

void grad_cpu(const Call& call) {
  const PoolWindows windows(call.out[0].shape(), call.in[0].shape(),
                            call.attrs.as<PoolGradAttrs>().spec);
  visit_floating("avg_pool2d_grad", call.out[0].dtype(),
                 [&]<class T>() { backward(windows, call.in[0].as<T>(), call.out[0].as<T>()); });
}

// The op is linear: the gradient of its gradient is the op.
std::vector<Tensor> grad_vjp(const Backward& b) {
  return {apply1(avg_pool2d_op, {contiguous(b.grad())}, b.attrs<PoolGradAttrs>().spec)};
}

std::vector<Tensor> vjp(const Backward& b) {
  return {apply1(avg_pool2d_grad_op, {contiguous(b.grad())},
                 PoolGradAttrs{b.attrs<PoolSpec>(), b.input_meta(0).shape})};
}

}  // namespace

constexpr OpDef avg_pool2d_op{
    .name = "avg_pool2d", .infer = infer, .cpu = cpu, .cuda = avg_pool2d_cuda, .vjp = {vjp}};
constexpr OpDef avg_pool2d_grad_op{.name = "avg_pool2d_grad",
                                   .infer = grad_infer,
                                   .cpu = grad_cpu,
                                   .cuda = avg_pool2d_grad_cuda,
                                   .vjp = {grad_vjp}};

}  // namespace plimsoll
