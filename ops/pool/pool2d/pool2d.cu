#include "core/cuda/elements.cuh"
#include "core/cuda/launch.cuh"
#include "core/engine/op.h"
#include "ops/pool/pool2d/windows.h"

namespace plimsoll {
namespace {

using namespace cuda;

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
__global__ void max_kernel(PoolWindows windows, Elements<C> x, Elements<C> y, Places places) {
  const int64_t all = windows.results() * windows.c;
  for (int64_t e = first_index(); e < all; e += total_threads()) {
    C best = -std::numeric_limits<C>::infinity();
    int32_t place = -1;
    windows.for_each_pixel(e / windows.c, [&](int64_t k, int64_t pixel) {
      const C value = x.get(pixel * windows.c + e % windows.c);
      // A window of nothing but -infinity still has a first element.
      if (value > best || value != value || place < 0) {
        best = value;
        place = static_cast<int32_t>(k);
      }
    });
    y.set(e, best);
    places.set(e, place);
  }
}

// Each pixel of the image gathers the gradients of the windows it won.
template <class C>
__global__ void max_grad_kernel(PoolWindows windows, Elements<C> dy, Places places,
                                Elements<C> dx) {
  const int64_t all = windows.pixels() * windows.c;
  for (int64_t e = first_index(); e < all; e += total_threads()) {
    C sum = 0;
    windows.for_each_window(e / windows.c, [&](int64_t k, int64_t window) {
      const int64_t at = window * windows.c + e % windows.c;
      if (places.get(at) == k) sum += dy.get(at);
    });
    dx.set(e, sum);
  }
}

template <class C>
__global__ void avg_kernel(PoolWindows windows, Elements<C> x, Elements<C> y) {
  const int64_t all = windows.results() * windows.c;
  for (int64_t e = first_index(); e < all; e += total_threads()) {
    const int64_t result = e / windows.c;
    C sum = 0;
    windows.for_each_pixel(
        result, [&](int64_t, int64_t pixel) { sum += x.get(pixel * windows.c + e % windows.c); });
    y.set(e, sum / static_cast<C>(windows.counted(result)));
  }
}

// Each pixel of the image gathers its share of the windows it is in.
template <class C>
__global__ void avg_grad_kernel(PoolWindows windows, Elements<C> dy, Elements<C> dx) {
  const int64_t all = windows.pixels() * windows.c;
  for (int64_t e = first_index(); e < all; e += total_threads()) {
    C sum = 0;
    windows.for_each_window(e / windows.c, [&](int64_t, int64_t window) {
      const C share = C(1) / static_cast<C>(windows.counted(window));
      sum += dy.get(window * windows.c + e % windows.c) * share;
    });
    dx.set(e, sum);
  }
}

}  // namespace

void max_pool2d_cuda(const Call& call) {
  const View &x = call.in[0], &y = call.out[0], &places = call.out[1];
  const PoolWindows windows(x.shape(), y.shape(), call.attrs.as<PoolSpec>());
  visit_floating_elements(y.dtype(), [&]<class C>() {
    launch(max_kernel<C>, blocks_for(count(y.shape())), kThreads, windows, elements<C>(x),
           elements<C>(y), places_in(places));
  });
}

void max_pool2d_grad_cuda(const Call& call) {
  const View &dy = call.in[0], &places = call.in[1], &dx = call.out[0];
  const PoolWindows windows(dx.shape(), dy.shape(), call.attrs.as<PoolGradAttrs>().spec);
  visit_floating_elements(dx.dtype(), [&]<class C>() {
    launch(max_grad_kernel<C>, blocks_for(count(dx.shape())), kThreads, windows, elements<C>(dy),
           places_in(places), elements<C>(dx));
  });
}

void avg_pool2d_cuda(const Call& call) {
  const View &x = call.in[0], &y = call.out[0];
  const PoolWindows windows(x.shape(), y.shape(), call.attrs.as<PoolSpec>());
  visit_floating_elements(y.dtype(), [&]<class C>() {
    launch(avg_kernel<C>, blocks_for(count(y.shape())), kThreads, windows, elements<C>(x),
           elements<C>(y));
  });
}

void avg_pool2d_grad_cuda(const Call& call) {
  const View &dy = call.in[0], &dx = call.out[0];
  const PoolWindows windows(dx.shape(), dy.shape(), call.attrs.as<PoolGradAttrs>().spec);
  visit_floating_elements(dx.dtype(), [&]<class C>() {
    launch(avg_grad_kernel<C>, blocks_for(count(dx.shape())), kThreads, windows, elements<C>(dy),
           elements<C>(dx));
  });
}

}  // namespace plimsoll
