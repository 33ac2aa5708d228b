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
  // Those of a pack of channels.
  __device__ void get(int64_t i, int64_t n, int64_t (&places)[kPack]) const {
    const auto read = [&](auto pack) {
      for (int j = 0; j < kPack; ++j) places[j] = pack.of[j];
    };
    if (bytes)
      read(read_pack(static_cast<const uint8_t*>(data), i, n));
    else
      read(read_pack(static_cast<const int32_t*>(data), i, n));
  }
  __device__ void set(int64_t i, int32_t place) const {
    if (bytes)
      static_cast<uint8_t*>(data)[i] = static_cast<uint8_t>(place);
    else
      static_cast<int32_t*>(data)[i] = place;
  }
};
Places places_in(const View& view) { return {view.data, view.dtype() == DType::u8}; }

// A pack of neighbouring channels of a pixel, or of a window, in a row of an image or of a result.
struct PoolPlace {
  int64_t image, row, column, first, channels;
  __device__ int64_t at(int64_t pixel) const { return pixel * channels + first; }
  __device__ int64_t end(int64_t pixel) const { return (pixel + 1) * channels; }
};

// f(place) for those of a row, which a block has to itself.
template <class F>
__device__ void for_each_place(int64_t rows, int64_t columns, int64_t channels, const F& f) {
  const int64_t packs = packs_in(channels), row = blockIdx.x % rows;
  for (int64_t p = threadIdx.x; p < columns * packs; p += blockDim.x) {
    const int64_t column = p / packs;
    f(PoolPlace{blockIdx.x / rows, row, column, (p - column * packs) * kPack, channels});
  }
}

template <class... Parameters, class... Arguments>
void launch_rows(void (*kernel)(Parameters...), const View& x, Arguments... arguments) {
  const Shape& s = x.shape();  // [n, rows, columns, channels]
  if (count(s) > 0) launch(kernel, s[0] * s[1], row_threads(s[2] * packs_in(s[3])), arguments...);
}

// The place in a window without pixels is -1, in the type of `places`.
template <class C>
__global__ void max_kernel(PoolWindows windows, Elements<C> x, Elements<C> y, Places places) {
  for_each_place(windows.h.out, windows.w.out, windows.c, [&](const PoolPlace& own) {
    C best[kPack], values[kPack];
    int32_t place[kPack];
    for (int j = 0; j < kPack; ++j) {
      best[j] = -std::numeric_limits<C>::infinity();
      place[j] = -1;
    }
    windows.for_each_pixel(own.image, own.row, own.column, [&](int64_t k, int64_t pixel) {
      x.get(own.at(pixel), own.end(pixel), values);
      for (int j = 0; j < kPack; ++j) {
        // A window of nothing but -infinity still has a first element.
        if (values[j] > best[j] || values[j] != values[j] || place[j] < 0) {
          best[j] = values[j];
          place[j] = static_cast<int32_t>(k);
        }
      }
    });
    const int64_t window = windows.window(own.image, own.row, own.column);
    y.set(own.at(window), own.end(window), best);
    for (int j = 0; j < kPack && own.first + j < windows.c; ++j)
      places.set(own.at(window) + j, place[j]);
  });
}

// Each pixel of the image gathers the gradients of the windows it won.
template <class C>
__global__ void max_grad_kernel(PoolWindows windows, Elements<C> dy, Places places,
                                Elements<C> dx) {
  for_each_place(windows.h.in, windows.w.in, windows.c, [&](const PoolPlace& own) {
    C sum[kPack] = {}, values[kPack];
    int64_t winners[kPack];
    windows.for_each_window(own.image, own.row, own.column, [&](int64_t k, int64_t window) {
      dy.get(own.at(window), own.end(window), values);
      places.get(own.at(window), own.end(window), winners);
      for (int j = 0; j < kPack; ++j)
        if (winners[j] == k) sum[j] += values[j];
    });
    const int64_t pixel = windows.pixel(own.image, own.row, own.column);
    dx.set(own.at(pixel), own.end(pixel), sum);
  });
}

template <class C>
__global__ void avg_kernel(PoolWindows windows, Elements<C> x, Elements<C> y) {
  for_each_place(windows.h.out, windows.w.out, windows.c, [&](const PoolPlace& own) {
    C sum[kPack] = {}, values[kPack];
    windows.for_each_pixel(own.image, own.row, own.column, [&](int64_t, int64_t pixel) {
      x.get(own.at(pixel), own.end(pixel), values);
      for (int j = 0; j < kPack; ++j) sum[j] += values[j];
    });
    const int64_t window = windows.window(own.image, own.row, own.column);
    for (C& s : sum) s /= static_cast<C>(windows.counted(window));
    y.set(own.at(window), own.end(window), sum);
  });
}

// Each pixel of the image gathers its share of the windows it is in.
template <class C>
__global__ void avg_grad_kernel(PoolWindows windows, Elements<C> dy, Elements<C> dx) {
  for_each_place(windows.h.in, windows.w.in, windows.c, [&](const PoolPlace& own) {
    C sum[kPack] = {}, values[kPack];
    windows.for_each_window(own.image, own.row, own.column, [&](int64_t, int64_t window) {
      const C share = C(1) / static_cast<C>(windows.counted(window));
      dy.get(own.at(window), own.end(window), values);
      for (int j = 0; j < kPack; ++j) sum[j] += values[j] * share;
    });
    const int64_t pixel = windows.pixel(own.image, own.row, own.column);
    dx.set(own.at(pixel), own.end(pixel), sum);
  });
}

}  // namespace

void max_pool2d_cuda(const Call& call) {
  const View &x = call.in[0], &y = call.out[0], &places = call.out[1];
  const PoolWindows windows(x.shape(), y.shape(), call.attrs.as<PoolSpec>());
  visit_floating_elements(y.dtype(), [&]<class C>() {
    launch_rows(max_kernel<C>, y, windows, elements<C>(x), elements<C>(y), places_in(places));
  });
}

void max_pool2d_grad_cuda(const Call& call) {
  const View &dy = call.in[0], &places = call.in[1], &dx = call.out[0];
  const PoolWindows windows(dx.shape(), dy.shape(), call.attrs.as<PoolGradAttrs>().spec);
  visit_floating_elements(dx.dtype(), [&]<class C>() {
    launch_rows(max_grad_kernel<C>, dx, windows, elements<C>(dy), places_in(places),
                elements<C>(dx));
  });
}

void avg_pool2d_cuda(const Call& call) {
  const View &x = call.in[0], &y = call.out[0];
  const PoolWindows windows(x.shape(), y.shape(), call.attrs.as<PoolSpec>());
  visit_floating_elements(y.dtype(), [&]<class C>() {
    launch_rows(avg_kernel<C>, y, windows, elements<C>(x), elements<C>(y));
  });
}

void avg_pool2d_grad_cuda(const Call& call) {
  const View &dy = call.in[0], &dx = call.out[0];
  const PoolWindows windows(dx.shape(), dy.shape(), call.attrs.as<PoolGradAttrs>().spec);
  visit_floating_elements(dx.dtype(), [&]<class C>() {
    launch_rows(avg_grad_kernel<C>, dx, windows, elements<C>(dy), elements<C>(dx));
  });
}

}  // namespace plimsoll
