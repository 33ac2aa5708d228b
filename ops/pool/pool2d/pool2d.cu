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

// The neighbouring channels of a window or a pixel that a thread has.
struct Channels {
  int64_t owner, first, all;  // which window or pixel; of how many channels

  // Pack number p of all.
  __device__ Channels(int64_t p, int64_t channels) : all(channels) {
    const int64_t packs = (channels + kPack - 1) / kPack;
    owner = p / packs;
    first = p % packs * kPack;
  }
  __device__ int64_t at(int64_t other) const { return other * all + first; }
  __device__ int64_t end(int64_t other) const { return (other + 1) * all; }
};
int64_t packs_of(const View& x) {
  const int64_t channels = x.shape().back();
  return channels == 0 ? 0 : count(x.shape()) / channels * pieces(channels, kPack);
}

// The place in a window without pixels is -1, in the type of `places`.
template <class C>
__global__ void max_kernel(PoolWindows windows, Elements<C> x, Elements<C> y, Places places,
                           int64_t packs) {
  for (int64_t p = first_index(); p < packs; p += total_threads()) {
    const Channels own(p, windows.c);
    C best[kPack], values[kPack];
    int32_t place[kPack];
    for (int j = 0; j < kPack; ++j) {
      best[j] = -std::numeric_limits<C>::infinity();
      place[j] = -1;
    }
    windows.for_each_pixel(own.owner, [&](int64_t k, int64_t pixel) {
      x.get(own.at(pixel), own.end(pixel), values);
      for (int j = 0; j < kPack; ++j) {
        // A window of nothing but -infinity still has a first element.
        if (values[j] > best[j] || values[j] != values[j] || place[j] < 0) {
          best[j] = values[j];
          place[j] = static_cast<int32_t>(k);
        }
      }
    });
    const int64_t at = own.at(own.owner), end = own.end(own.owner);
    y.set(at, end, best);
    for (int j = 0; j < kPack; ++j)
      if (at + j < end) places.set(at + j, place[j]);
  }
}

// Each pixel of the image gathers the gradients of the windows it won.
template <class C>
__global__ void max_grad_kernel(PoolWindows windows, Elements<C> dy, Places places, Elements<C> dx,
                                int64_t packs) {
  for (int64_t p = first_index(); p < packs; p += total_threads()) {
    const Channels own(p, windows.c);
    C sum[kPack] = {}, values[kPack];
    windows.for_each_window(own.owner, [&](int64_t k, int64_t window) {
      const int64_t at = own.at(window), end = own.end(window);
      dy.get(at, end, values);
      for (int j = 0; j < kPack; ++j)
        if (at + j < end && places.get(at + j) == k) sum[j] += values[j];
    });
    dx.set(own.at(own.owner), own.end(own.owner), sum);
  }
}

template <class C>
__global__ void avg_kernel(PoolWindows windows, Elements<C> x, Elements<C> y, int64_t packs) {
  for (int64_t p = first_index(); p < packs; p += total_threads()) {
    const Channels own(p, windows.c);
    C sum[kPack] = {}, values[kPack];
    windows.for_each_pixel(own.owner, [&](int64_t, int64_t pixel) {
      x.get(own.at(pixel), own.end(pixel), values);
      for (int j = 0; j < kPack; ++j) sum[j] += values[j];
    });
    for (C& s : sum) s /= static_cast<C>(windows.counted(own.owner));
    y.set(own.at(own.owner), own.end(own.owner), sum);
  }
}

// Each pixel of the image gathers its share of the windows it is in.
template <class C>
__global__ void avg_grad_kernel(PoolWindows windows, Elements<C> dy, Elements<C> dx,
                                int64_t packs) {
  for (int64_t p = first_index(); p < packs; p += total_threads()) {
    const Channels own(p, windows.c);
    C sum[kPack] = {}, values[kPack];
    windows.for_each_window(own.owner, [&](int64_t, int64_t window) {
      const C share = C(1) / static_cast<C>(windows.counted(window));
      dy.get(own.at(window), own.end(window), values);
      for (int j = 0; j < kPack; ++j) sum[j] += values[j] * share;
    });
    dx.set(own.at(own.owner), own.end(own.owner), sum);
  }
}

}  // namespace

void max_pool2d_cuda(const Call& call) {
  const View &x = call.in[0], &y = call.out[0], &places = call.out[1];
  const PoolWindows windows(x.shape(), y.shape(), call.attrs.as<PoolSpec>());
  const int64_t packs = packs_of(y);
  visit_floating_elements(y.dtype(), [&]<class C>() {
    launch(max_kernel<C>, blocks_for(packs), kThreads, windows, elements<C>(x), elements<C>(y),
           places_in(places), packs);
  });
}

void max_pool2d_grad_cuda(const Call& call) {
  const View &dy = call.in[0], &places = call.in[1], &dx = call.out[0];
  const PoolWindows windows(dx.shape(), dy.shape(), call.attrs.as<PoolGradAttrs>().spec);
  const int64_t packs = packs_of(dx);
  visit_floating_elements(dx.dtype(), [&]<class C>() {
    launch(max_grad_kernel<C>, blocks_for(packs), kThreads, windows, elements<C>(dy),
           places_in(places), elements<C>(dx), packs);
  });
}

void avg_pool2d_cuda(const Call& call) {
  const View &x = call.in[0], &y = call.out[0];
  const PoolWindows windows(x.shape(), y.shape(), call.attrs.as<PoolSpec>());
  const int64_t packs = packs_of(y);
  visit_floating_elements(y.dtype(), [&]<class C>() {
    launch(avg_kernel<C>, blocks_for(packs), kThreads, windows, elements<C>(x), elements<C>(y),
           packs);
  });
}

void avg_pool2d_grad_cuda(const Call& call) {
  const View &dy = call.in[0], &dx = call.out[0];
  const PoolWindows windows(dx.shape(), dy.shape(), call.attrs.as<PoolGradAttrs>().spec);
  const int64_t packs = packs_of(dx);
  visit_floating_elements(dx.dtype(), [&]<class C>() {
    launch(avg_grad_kernel<C>, blocks_for(packs), kThreads, windows, elements<C>(dy),
           elements<C>(dx), packs);
  });
}

}  // namespace plimsoll
