// Convolution by cuDNN. What it does not do (f64), or where it is missing, kernels here do, plain
// and slow: a thread adds up each result, one product after the other.
#include "core/cuda/elements.cuh"
#include "core/cuda/launch.cuh"
#include "ops/conv/conv2d/on_cuda.h"

namespace plimsoll {
namespace {

using namespace cuda;

// n / by; n becomes the rest.
__device__ int64_t take(int64_t& n, int64_t by) {
  const int64_t quotient = n / by;
  n -= quotient * by;
  return quotient;
}

// A place in an image, or a tap of a filter.
struct Place {
  int64_t image, row, column;
};

// Numbers counted through the sizes of a ConvSizes, and where windows lie.
struct Geometry {
  ConvSizes s;
  int64_t inputs, outputs;  // of a group

  explicit Geometry(const ConvSizes& sizes)
      : s(sizes), inputs(sizes.group_inputs()), outputs(sizes.group_outputs()) {}

  __device__ Place window(int64_t i) const {
    const int64_t image = take(i, s.p * s.q), row = take(i, s.q);
    return {image, row, i};
  }
  __device__ Place pixel(int64_t i) const {
    const int64_t image = take(i, s.h * s.w), row = take(i, s.w);
    return {image, row, i};
  }
  // Of tap number t of the filters.
  __device__ Place tap(int64_t t) const {
    const int64_t row = take(t, s.kw);
    return {0, row, t};
  }
  // The pixel that a tap of a window reads, as a number among all; -1 outside the image.
  __device__ int64_t pixel_of(const Place& window, const Place& tap) const {
    const int64_t y = window.row * s.stride.h + tap.row * s.dilation.h - s.padding.h;
    const int64_t x = window.column * s.stride.w + tap.column * s.dilation.w - s.padding.w;
    if (y < 0 || y >= s.h || x < 0 || x >= s.w) return -1;
    return (window.image * s.h + y) * s.w + x;
  }
  // The window that reads a pixel by a tap, as a number among all; -1 where there is none.
  __device__ int64_t window_of(const Place& pixel, const Place& tap) const {
    const int64_t y = pixel.row + s.padding.h - tap.row * s.dilation.h;
    const int64_t x = pixel.column + s.padding.w - tap.column * s.dilation.w;
    if (y < 0 || x < 0) return -1;
    const int64_t i = y / s.stride.h, j = x / s.stride.w;
    if (i * s.stride.h != y || j * s.stride.w != x || i >= s.p || j >= s.q) return -1;
    return (pixel.image * s.p + i) * s.q + j;
  }
};

// y[window, o] = bias[o] + sum over (tap, c) of x[pixel, c] w[o, tap, c]
template <class C>
__global__ void conv2d_kernel(Geometry g, Elements<C> x, Elements<C> w, Elements<C> bias,
                              Elements<C> y) {
  const int64_t all = g.s.n * g.s.p * g.s.q * g.s.o, taps = g.s.taps();
  for (int64_t e = first_index(); e < all; e += total_threads()) {
    const int64_t o = e % g.s.o, first_input = o / g.outputs * g.inputs;
    const Place window = g.window(e / g.s.o);
    C sum = 0;
    for (int64_t t = 0; t < taps; ++t) {
      const int64_t pixel = g.pixel_of(window, g.tap(t));
      for (int64_t c = 0; pixel >= 0 && c < g.inputs; ++c)
        sum += x.get(pixel * g.s.c + first_input + c) * w.get((o * taps + t) * g.inputs + c);
    }
    y.set(e, bias.data ? sum + bias.get(o) : sum);
  }
}

// dx[pixel, c] = sum over (tap, o) of dy[window, o] w[o, tap, c]
template <class C>
__global__ void conv2d_input_grad_kernel(Geometry g, Elements<C> dy, Elements<C> w,
                                         Elements<C> dx) {
  const int64_t all = g.s.n * g.s.h * g.s.w * g.s.c, taps = g.s.taps();
  for (int64_t e = first_index(); e < all; e += total_threads()) {
    const int64_t c = e % g.s.c % g.inputs, first = e % g.s.c / g.inputs * g.outputs;
    const Place pixel = g.pixel(e / g.s.c);
    C sum = 0;
    for (int64_t t = 0; t < taps; ++t) {
      const int64_t window = g.window_of(pixel, g.tap(t));
      for (int64_t o = first; window >= 0 && o < first + g.outputs; ++o)
        sum += dy.get(window * g.s.o + o) * w.get((o * taps + t) * g.inputs + c);
    }
    dx.set(e, sum);
  }
}

// dw[o, tap, c] = sum over windows of dy[window, o] x[pixel, c]
template <class C>
__global__ void conv2d_weight_grad_kernel(Geometry g, Elements<C> x, Elements<C> dy,
                                          Elements<C> dw) {
  const int64_t windows = g.s.n * g.s.p * g.s.q, taps = g.s.taps();
  const int64_t all = g.s.o * taps * g.inputs;
  for (int64_t e = first_index(); e < all; e += total_threads()) {
    const int64_t o = e / g.inputs / taps, channel = o / g.outputs * g.inputs + e % g.inputs;
    const Place tap = g.tap(e / g.inputs % taps);
    C sum = 0;
    for (int64_t i = 0; i < windows; ++i) {
      const int64_t pixel = g.pixel_of(g.window(i), tap);
      if (pixel >= 0) sum += x.get(pixel * g.s.c + channel) * dy.get(i * g.s.o + o);
    }
    dw.set(e, sum);
  }
}

bool by_library(const Call& call, const ConvSizes& s, Convolution::Kind kind) {
  if (!convolve_by_library) return false;
  std::vector<void*> tensors;
  for (const View& x : call.in) tensors.push_back(x.data);
  tensors.push_back(call.out[0].data);
  return convolve_by_library(library_convolution(s, kind, call.out[0].dtype(), call.in.size() == 3),
                             tensors, call.workspace);
}

}  // namespace

void conv2d_cuda(const Call& call) {
  const ConvSizes s = conv2d_sizes(metas_of(call.in), call.attrs);
  if (by_library(call, s, Convolution::Kind::forward)) return;
  const View& y = call.out[0];
  visit_floating_elements(y.dtype(), [&]<class C>() {
    const auto bias = call.in.size() == 3 ? elements<C>(call.in[2]) : Elements<C>();
    launch(conv2d_kernel<C>, blocks_for(count(y.shape())), kThreads, Geometry(s),
           elements<C>(call.in[0]), elements<C>(call.in[1]), bias, elements<C>(y));
  });
}

void conv2d_input_grad_cuda(const Call& call) {
  const ConvSizes s = conv2d_input_grad_sizes(metas_of(call.in), call.attrs);
  if (by_library(call, s, Convolution::Kind::input_grad)) return;
  const View& dx = call.out[0];
  visit_floating_elements(dx.dtype(), [&]<class C>() {
    launch(conv2d_input_grad_kernel<C>, blocks_for(count(dx.shape())), kThreads, Geometry(s),
           elements<C>(call.in[0]), elements<C>(call.in[1]), elements<C>(dx));
  });
}

void conv2d_weight_grad_cuda(const Call& call) {
  const ConvSizes s = conv2d_weight_grad_sizes(metas_of(call.in), call.attrs);
  if (by_library(call, s, Convolution::Kind::weight_grad)) return;
  const View& dw = call.out[0];
  visit_floating_elements(dw.dtype(), [&]<class C>() {
    launch(conv2d_weight_grad_kernel<C>, blocks_for(count(dw.shape())), kThreads, Geometry(s),
           elements<C>(call.in[0]), elements<C>(call.in[1]), elements<C>(dw));
  });
}

}  // namespace plimsoll
