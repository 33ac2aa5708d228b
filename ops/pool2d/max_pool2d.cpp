#include <limits>

#include "core/apply.h"
#include "ops/copy/copy.h"
#include "ops/pool2d/windows.h"

namespace plimsoll {
namespace {

// Place of each maximum in its window: a byte where that is enough.
DType place_dtype(const Pool2dAttrs& attrs) {
  return attrs.window.h * attrs.window.w <= 256 ? DType::u8 : DType::i32;
}

Metas max_infer(std::span<const Meta> in, const Attrs& attrs) {
  const auto& pool = attrs.as<Pool2dAttrs>();
  const Meta y = pooled("max_pool2d", in[0], pool);
  return {y, {y.shape, place_dtype(pool), y.device}};
}

template <class T, class Place>
void max_typed(const PoolWindows& windows, const T* x, T* y, Place* places) {
  using C = Compute<T>;
  const int64_t area = windows.attrs.window.h * windows.attrs.window.w;
  for_each_block(windows.n * windows.p * windows.q, windows.c, area,
                 [&](int64_t pixel, int64_t first, int64_t n) {
                   std::array<C, kPoolBlock> best;
                   std::array<int32_t, kPoolBlock> place;
                   best.fill(-std::numeric_limits<C>::infinity());
                   place.fill(-1);
                   const int64_t j = pixel % windows.q, i = pixel / windows.q % windows.p;
                   windows.pixels(
                       pixel / windows.q / windows.p, i, j, [&](int64_t k, int64_t offset) {
                         const T* from = x + offset + first;
#pragma omp simd
                         for (int64_t c = 0; c < n; ++c) {
                           const C value = static_cast<C>(from[c]);
                           // A window of nothing but -infinity still has a first element.
                           const bool better = value > best[c] || value != value || place[c] < 0;
                           best[c] = better ? value : best[c];
                           place[c] = better ? static_cast<int32_t>(k) : place[c];
                         }
                       });
                   const int64_t at = pixel * windows.c + first;
                   for (int64_t c = 0; c < n; ++c) {
                     y[at + c] = static_cast<T>(best[c]);
                     places[at + c] = static_cast<Place>(place[c]);
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

void max_cpu(const Call& call) {
  const PoolWindows windows(call.in[0].shape(), call.out[0].shape(), call.attrs.as<Pool2dAttrs>());
  visit_types(call.out[0].dtype(), call.out[1].dtype(), [&]<class T, class Place>() {
    max_typed(windows, call.in[0].as<T>(), call.out[0].as<T>(), call.out[1].as<Place>());
  });
}

Metas max_grad_infer(std::span<const Meta> in, const Attrs& attrs) {
  return {{attrs.as<PoolGradAttrs>().image, in[0].dtype, in[0].device}};
}

// Each pixel of the image gathers the gradients of the windows it won.
template <class T, class Place>
void max_grad_typed(const PoolWindows& windows, const T* dy, const Place* places, T* dx) {
  const int64_t area = windows.attrs.window.h * windows.attrs.window.w;
  for_each_block(windows.n * windows.h * windows.w, windows.c, area,
                 [&](int64_t pixel, int64_t first, int64_t n) {
                   std::array<Compute<T>, kPoolBlock> sum{};
                   const int64_t x = pixel % windows.w, y = pixel / windows.w % windows.h;
                   windows.windows(pixel / windows.w / windows.h, y, x,
                                   [&](int64_t k, int64_t offset) {
                                     const T* from = dy + offset + first;
                                     const Place* place = places + offset + first;
#pragma omp simd
                                     for (int64_t c = 0; c < n; ++c) {
                                       const auto g = static_cast<Compute<T>>(from[c]);
                                       sum[c] += static_cast<int64_t>(place[c]) == k ? g : 0;
                                     }
                                   });
                   for (int64_t c = 0; c < n; ++c)
                     dx[pixel * windows.c + first + c] = static_cast<T>(sum[c]);
                 });
}

void max_grad_cpu(const Call& call) {
  const PoolWindows windows(call.out[0].shape(), call.in[0].shape(),
                            call.attrs.as<PoolGradAttrs>().pool);
  visit_types(call.out[0].dtype(), call.in[1].dtype(), [&]<class T, class Place>() {
    max_grad_typed(windows, call.in[0].as<T>(), call.in[1].as<Place>(), call.out[0].as<T>());
  });
}

}  // namespace

extern const OpDef max_pool2d_op, max_pool2d_grad_op;
constexpr OpDef max_pool2d_grad_op{
    .name = "max_pool2d_grad", .infer = max_grad_infer, .cpu = max_grad_cpu};

namespace {

std::vector<Tensor> max_vjp(const Backward& b) {
  return {apply1(max_pool2d_grad_op, {contiguous(b.grad()), b.output(1)},
                 PoolGradAttrs{b.attrs<Pool2dAttrs>(), b.input_meta(0).shape})};
}

}  // namespace

constexpr OpDef max_pool2d_op{.name = "max_pool2d",
                              .infer = max_infer,
                              .cpu = max_cpu,
                              .vjp = max_vjp,
                              .saves = {.outputs = bits(1)}};

Tensor max_pool2d(const Tensor& x, const Pool2dAttrs& attrs) {
  return apply(max_pool2d_op, {contiguous(x)}, attrs)[0];
}

}  // namespace plimsoll
