#include <limits>

#include "core/cpu/vector.h"
#include "core/cuda/seam/cuda_kernel.h"
#include "core/engine/apply.h"
#include "ops/common/pointwise.h"
#include "ops/pointwise/copy/copy.h"
#include "ops/pointwise/relu/formulas.h"
#include "ops/pool/pool2d/windows.h"

namespace plimsoll {

PLIMSOLL_CUDA_KERNEL(max_pool2d_cuda);
PLIMSOLL_CUDA_KERNEL(max_pool2d_grad_cuda);

namespace {

constexpr PoolNames kNames{"max_pool2d", "adaptive_max_pool2d"};

// Place of each maximum in its window: a byte where that is enough.
Metas infer(std::span<const Meta> in, const Attrs& attrs) {
  const auto& spec = attrs.as<PoolSpec>();
  const Meta y = pooled(kNames, in[0], spec);
  const DType place =
      PoolWindows(in[0].shape, y.shape, spec).area() <= 256 ? DType::u8 : DType::i32;
  return {y, {y.shape, place, y.device}};
}

template <class T, class Place>
void forward(const PoolWindows& windows, const T* x, T* y, Place* places) {
  using C = Compute<T>;
  for_each_block(windows.results(), windows.c, windows.area(),
                 [&](int64_t result, int64_t first, int64_t n) {
                   std::array<C, kPoolBlock> best;
                   std::array<int32_t, kPoolBlock> place;
                   best.fill(-std::numeric_limits<C>::infinity());
                   place.fill(-1);
                   windows.for_each_pixel(result, [&](int64_t k, int64_t pixel) {
                     const T* from = x + pixel * windows.c + first;
#pragma omp simd
                     for (int64_t c = 0; c < n; ++c) {
                       const C value = static_cast<C>(from[c]);
                       // A window of nothing but -infinity still has a first element.
                       const bool better = value > best[c] || value != value || place[c] < 0;
                       best[c] = better ? value : best[c];
                       place[c] = better ? static_cast<int32_t>(k) : place[c];
                     }
                   });
                   T* to = y + result * windows.c + first;
                   Place* won = places + result * windows.c + first;
#pragma omp simd
                   for (int64_t c = 0; c < n; ++c) {
                     to[c] = narrow<T>(best[c]);
                     won[c] = static_cast<Place>(place[c]);
                   }
                 });
}

// Calls f with the C++ types of a floating view and of the places.
template <class F>
void visit_types(DType dtype, DType place, F&& f) {
  visit_floating("max_pool2d", dtype, [&]<class T>() {
    place == DType::u8 ? f.template operator()<T, uint8_t>() : f.template operator()<T, int32_t>();
  });
}

void cpu(const Call& call) {
  const PoolWindows windows(call.in[0].shape(), call.out[0].shape(), call.attrs.as<PoolSpec>());
  visit_types(call.out[0].dtype(), call.out[1].dtype(), [&]<class T, class Place>() {
    forward(windows, call.in[0].as<T>(), call.out[0].as<T>(), call.out[1].as<Place>());
  });
}

Metas grad_infer(std::span<const Meta> in, const Attrs& attrs) {
  return {{attrs.as<PoolGradAttrs>().image, in[0].dtype, in[0].device}};
}

// Where every pixel is in one window, each window hands its gradient to the pixel that won. As many
// channels at once as a vector of Compute<T> has: bytes of places alone would make it four times as
// many, and what remains goes one by one. 16 bits are handed on as they are.
template <class T, class Place>
void backward_tiled(const PoolWindows& windows, const T* dy, const Place* places, T* dx) {
  using Bits = std::conditional_t<is_16_bit<T>, uint16_t, T>;
  constexpr int lanes = kLanes<Compute<T>>;
  for_each_block(
      windows.results(), windows.c, windows.area(), [&](int64_t result, int64_t first, int64_t n) {
        const auto* from = reinterpret_cast<const Bits*>(dy + result * windows.c + first);
        const Place* place = places + result * windows.c + first;
        windows.for_each_pixel(result, [&](int64_t k, int64_t pixel) {
          auto* to = reinterpret_cast<Bits*>(dx + pixel * windows.c + first);
          const auto own = static_cast<int32_t>(k);
#pragma omp simd simdlen(lanes)
          for (int64_t c = 0; c < n; ++c) {
            const Bits value = from[c];
            to[c] = static_cast<int32_t>(place[c]) == own ? value : Bits(0);
          }
        });
      });
}

// Each pixel of the image gathers the gradients of the windows it won.
template <class T, class Place>
void backward(const PoolWindows& windows, const T* dy, const Place* places, T* dx) {
  using C = Compute<T>;
  constexpr int lanes = kLanes<C>;
  if (windows.h.tiled() && windows.w.tiled()) return backward_tiled(windows, dy, places, dx);
  for_each_block(
      windows.pixels(), windows.c, windows.area(), [&](int64_t pixel, int64_t first, int64_t n) {
        std::array<C, kPoolBlock> sum{};
        windows.for_each_window(pixel, [&](int64_t k, int64_t window) {
          const T* from = dy + window * windows.c + first;
          const Place* place = places + window * windows.c + first;
          const auto own = static_cast<int32_t>(k);
#pragma omp simd simdlen(lanes)
          for (int64_t c = 0; c < n; ++c)
            sum[c] += static_cast<int32_t>(place[c]) == own ? static_cast<C>(from[c]) : C(0);
        });
        T* to = dx + pixel * windows.c + first;
#pragma omp simd
        for (int64_t c = 0; c < n; ++c) to[c] = narrow<T>(sum[c]);
      });
}

void grad_cpu(const Call& call) {
  const PoolWindows windows(call.out[0].shape(), call.in[0].shape(),
                            call.attrs.as<PoolGradAttrs>().spec);
  visit_types(call.out[0].dtype(), call.in[1].dtype(), [&]<class T, class Place>() {
    backward(windows, call.in[0].as<T>(), call.in[1].as<Place>(), call.out[0].as<T>());
  });
}

std::vector<Tensor> vjp(const Backward& b) {
  return {apply1(max_pool2d_grad_op, {contiguous(b.grad()), b.output(1)},
                 PoolGradAttrs{b.attrs<PoolSpec>(), b.input_meta(0).shape})};
}

// A window without a pixel has the maximum -infinity, which relu behind it would change.
bool has_pixels_only(const Attrs& attrs) { return attrs.as<PoolSpec>().pool.dilation == Pair(1); }

constexpr ReluAfter relu_after{.grad = &max_pool2d_grad_op,
                               .relu = &Unary<formulas::Relu>::op,
                               .relu_grad = &Unary<formulas::Relu>::grad,
                               .suits = has_pixels_only};

}  // namespace

constexpr OpDef max_pool2d_grad_op{
    .name = "max_pool2d_grad", .infer = grad_infer, .cpu = grad_cpu, .cuda = max_pool2d_grad_cuda};
constexpr OpDef max_pool2d_op{.name = "max_pool2d",
                              .infer = infer,
                              .cpu = cpu,
                              .cuda = max_pool2d_cuda,
                              .vjp = {.rule = vjp, .outputs = bits(1)},
                              .relu_after = &relu_after};

}  // namespace plimsoll
