#include "core/cuda/elements.cuh"
#include "ops/common/rows.cuh"
#include "ops/pool/pool2d/windows.h"

namespace plimsoll {
namespace {

using namespace cuda;

// f(pixel or window number, channel) for `count` of them, with packs kTogether channels at a time.
template <class F>
__device__ void for_channels(int64_t count, int64_t channels, bool packs, const F& f) {
  const int64_t together = packs ? kTogether : 1, groups = channels / together;
  for (int64_t i = first_index(); i < count * groups; i += total_threads())
    f(i / groups, i % groups * together);
}

// PoolWindows::for_each_window() with one loop for all kinds of windows, for the sake of small
// kernels: f(place in the window, window number) for the windows that a pixel is in.
struct WindowsOfPixel {
  int64_t begin, end;  // along one axis
  __device__ WindowsOfPixel(const PoolAxis& axis, int64_t pixel) {
    const int64_t beyond = pixel + axis.before - (axis.window - 1) * axis.dilation;
    begin = axis.adaptive ? pixel * axis.out / axis.in
                          : (beyond > 0 ? divide_up(beyond, axis.stride) : 0);
    end = axis.adaptive ? divide_up((pixel + 1) * axis.out, axis.in)
                        : (pixel + axis.before) / axis.stride + 1;
    if (end > axis.out) end = axis.out;
  }
};

// The tap of window i that reads a pixel, or -1.
__device__ int64_t tap_of(const PoolAxis& axis, int64_t i, int64_t pixel) {
  const int64_t offset = pixel - axis.first(i);
  if (axis.dilation == 1) return offset;
  return offset % axis.dilation == 0 ? offset / axis.dilation : -1;
}

template <class F>
__device__ void for_each_window(const PoolWindows& windows, int64_t pixel, const F& f) {
  const PoolAxis &h = windows.h, &w = windows.w;
  const int64_t x = pixel % w.in, y = pixel / w.in % h.in, image = pixel / w.in / h.in;
  const WindowsOfPixel rows(h, y), columns(w, x);
  for (int64_t i = rows.begin; i < rows.end; ++i) {
    const int64_t r = tap_of(h, i, y);
    for (int64_t j = columns.begin; r >= 0 && j < columns.end; ++j) {
      const int64_t s = tap_of(w, j, x);
      if (s >= 0) f(r * w.window + s, (image * h.out + i) * w.out + j);
    }
  }
}

// Places in windows: a byte, or 32 bits, each.
struct Places {
  void* data;
  bool bytes;
  __device__ int64_t get(int64_t i) const {
    return bytes ? static_cast<uint8_t*>(data)[i] : static_cast<int32_t*>(data)[i];
  }
  __device__ void set(int64_t i, int32_t place) const {
    if (bytes)
      static_cast<uint8_t*>(data)[i] = static_cast<uint8_t>(place);
    else
      static_cast<int32_t*>(data)[i] = place;
  }
};
Places places_in(const View& view) { return {view.data, view.dtype() == DType::u8}; }

// The place in a window without pixels is -1, in the type of `places`.
template <class C>
__global__ void max_kernel(PoolWindows windows, Elements<C> x, Elements<C> y, Places places,
                           bool packs) {
  for_channels(windows.results(), windows.c, packs, [&](int64_t result, int64_t first) {
    typename Elements<C>::Several best;
    int32_t place[kTogether];
    for (int j = 0; j < kTogether; ++j) {
      best.at[j] = -std::numeric_limits<C>::infinity();
      place[j] = -1;
    }
    windows.for_each_pixel(result, [&](int64_t k, int64_t pixel) {
      const auto values = FewColumns<C>{x, windows.c, first, packs}.get(pixel);
      for (int j = 0; j < kTogether; ++j) {
        const C value = values.at[j];
        // A window of nothing but -infinity still has a first element.
        if (value > best.at[j] || value != value || place[j] < 0) {
          best.at[j] = value;
          place[j] = static_cast<int32_t>(k);
        }
      }
    });
    FewColumns<C>{y, windows.c, first, packs}.set(result, best);
    for (int j = 0; j < (packs ? kTogether : 1); ++j)
      places.set(result * windows.c + first + j, place[j]);
  });
}

// Each pixel of the image gathers the gradients of the windows it won.
template <class C>
__global__ void max_grad_kernel(PoolWindows windows, Elements<C> dy, Places places, Elements<C> dx,
                                bool packs) {
  for_channels(windows.pixels(), windows.c, packs, [&](int64_t pixel, int64_t first) {
    typename Elements<C>::Several sum{};
    for_each_window(windows, pixel, [&](int64_t k, int64_t window) {
      const auto gradients = FewColumns<C>{dy, windows.c, first, packs}.get(window);
      const int64_t at = window * windows.c + first;
      for (int j = 0; j < (packs ? kTogether : 1); ++j)
        sum.at[j] += places.get(at + j) == k ? gradients.at[j] : C(0);
    });
    FewColumns<C>{dx, windows.c, first, packs}.set(pixel, sum);
  });
}

template <class C>
__global__ void avg_kernel(PoolWindows windows, Elements<C> x, Elements<C> y, bool packs) {
  for_channels(windows.results(), windows.c, packs, [&](int64_t result, int64_t first) {
    typename Elements<C>::Several sum{};
    windows.for_each_pixel(result, [&](int64_t, int64_t pixel) {
      const auto values = FewColumns<C>{x, windows.c, first, packs}.get(pixel);
      for (int j = 0; j < kTogether; ++j) sum.at[j] += values.at[j];
    });
    const C counted = static_cast<C>(windows.counted(result));
    for (int j = 0; j < kTogether; ++j) sum.at[j] /= counted;
    FewColumns<C>{y, windows.c, first, packs}.set(result, sum);
  });
}

// Each pixel of the image gathers its share of the windows it is in.
template <class C>
__global__ void avg_grad_kernel(PoolWindows windows, Elements<C> dy, Elements<C> dx, bool packs) {
  for_channels(windows.pixels(), windows.c, packs, [&](int64_t pixel, int64_t first) {
    typename Elements<C>::Several sum{};
    for_each_window(windows, pixel, [&](int64_t, int64_t window) {
      const auto gradients = FewColumns<C>{dy, windows.c, first, packs}.get(window);
      const C share = C(1) / static_cast<C>(windows.counted(window));
      for (int j = 0; j < kTogether; ++j) sum.at[j] += gradients.at[j] * share;
    });
    FewColumns<C>{dx, windows.c, first, packs}.set(pixel, sum);
  });
}

}  // namespace

void max_pool2d_cuda(const Call& call) {
  const View &x = call.in[0], &y = call.out[0], &places = call.out[1];
  const PoolWindows windows(x.shape(), y.shape(), call.attrs.as<PoolSpec>());
  visit_floating_elements(y.dtype(), [&]<class C>() {
    launch(max_kernel<C>, blocks_for(count(y.shape())), kThreads, windows, elements<C>(x),
           elements<C>(y), places_in(places), in_packs(windows.c, x, y));
  });
}

void max_pool2d_grad_cuda(const Call& call) {
  const View &dy = call.in[0], &places = call.in[1], &dx = call.out[0];
  const PoolWindows windows(dx.shape(), dy.shape(), call.attrs.as<PoolGradAttrs>().spec);
  visit_floating_elements(dx.dtype(), [&]<class C>() {
    launch(max_grad_kernel<C>, blocks_for(count(dx.shape())), kThreads, windows, elements<C>(dy),
           places_in(places), elements<C>(dx), in_packs(windows.c, dy, dx));
  });
}

void avg_pool2d_cuda(const Call& call) {
  const View &x = call.in[0], &y = call.out[0];
  const PoolWindows windows(x.shape(), y.shape(), call.attrs.as<PoolSpec>());
  visit_floating_elements(y.dtype(), [&]<class C>() {
    launch(avg_kernel<C>, blocks_for(count(y.shape())), kThreads, windows, elements<C>(x),
           elements<C>(y), in_packs(windows.c, x, y));
  });
}

void avg_pool2d_grad_cuda(const Call& call) {
  const View &dy = call.in[0], &dx = call.out[0];
  const PoolWindows windows(dx.shape(), dy.shape(), call.attrs.as<PoolGradAttrs>().spec);
  visit_floating_elements(dx.dtype(), [&]<class C>() {
    launch(avg_grad_kernel<C>, blocks_for(count(dx.shape())), kThreads, windows, elements<C>(dy),
           elements<C>(dx), in_packs(windows.c, dy, dx));
  });
}

}  // namespace plimsoll
