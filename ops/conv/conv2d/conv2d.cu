// Convolution as a matrix product whose operand is read from the image where it lies, one product
// for each group. Depthwise convolution, where such products would be one column wide, sums each
// result in a thread of its own; neighbouring threads have neighbouring channels.
#include "core/cuda/elements.cuh"
#include "core/cuda/product.cuh"
#include "core/cuda/walk.cuh"
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

// y[window, o] = sum over (tap, c) of x[pixel, c] w[o, tap, c]
template <class C>
struct Forward {
  static constexpr bool a_along_k = true, b_along_k = true;
  Geometry g;
  Elements<C> x, w, bias, y;
  int64_t group = 0;

  __device__ void enter(int64_t batch) { group = batch; }
  __device__ C a(int64_t i, int64_t k) const {
    const int64_t tap = take(k, g.inputs);
    const int64_t pixel = g.pixel_of(g.window(i), g.tap(tap));
    return pixel < 0 ? C(0) : x.get(pixel * g.s.c + group * g.inputs + k);
  }
  __device__ C b(int64_t k, int64_t j) const {
    return w.get((group * g.outputs + j) * g.s.taps() * g.inputs + k);
  }
  __device__ void store(int64_t i, int64_t j, C sum) const {
    const int64_t o = group * g.outputs + j;
    y.set(i * g.s.o + o, bias.data ? sum + bias.get(o) : sum);
  }
};

// dx[pixel, c] = sum over (tap, o) of dy[window, o] w[o, tap, c]
template <class C>
struct InputGrad {
  static constexpr bool a_along_k = true, b_along_k = false;
  Geometry g;
  Elements<C> dy, w, dx;
  int64_t group = 0;

  __device__ void enter(int64_t batch) { group = batch; }
  __device__ C a(int64_t i, int64_t k) const {
    const int64_t tap = take(k, g.outputs);
    const int64_t window = g.window_of(g.pixel(i), g.tap(tap));
    return window < 0 ? C(0) : dy.get(window * g.s.o + group * g.outputs + k);
  }
  __device__ C b(int64_t k, int64_t j) const {
    const int64_t tap = take(k, g.outputs);
    return w.get(((group * g.outputs + k) * g.s.taps() + tap) * g.inputs + j);
  }
  __device__ void store(int64_t i, int64_t j, C sum) const {
    dx.set(i * g.s.c + group * g.inputs + j, sum);
  }
};

// dw[o, (tap, c)] = sum over windows of dy[window, o] x[pixel, c]
template <class C>
struct WeightGrad {
  static constexpr bool a_along_k = false, b_along_k = false;
  Geometry g;
  Elements<C> x, dy, dw;
  int64_t group = 0;

  __device__ void enter(int64_t batch) { group = batch; }
  __device__ C a(int64_t i, int64_t k) const { return dy.get(k * g.s.o + group * g.outputs + i); }
  __device__ C b(int64_t k, int64_t j) const {
    const int64_t tap = take(j, g.inputs);
    const int64_t pixel = g.pixel_of(g.window(k), g.tap(tap));
    return pixel < 0 ? C(0) : x.get(pixel * g.s.c + group * g.inputs + j);
  }
  __device__ void store(int64_t i, int64_t j, C sum) const {
    dw.set((group * g.outputs + i) * g.s.taps() * g.inputs + j, sum);
  }
};

template <class C>
__global__ void depthwise_kernel(Geometry g, Elements<C> x, Elements<C> w, Elements<C> bias,
                                 Elements<C> y) {
  const int64_t all = g.s.n * g.s.p * g.s.q * g.s.o, taps = g.s.taps();
  for (int64_t e = first_index(); e < all; e += total_threads()) {
    const int64_t o = e % g.s.o, channel = o / g.outputs;
    const Place window = g.window(e / g.s.o);
    C sum = 0;
    for (int64_t t = 0; t < taps; ++t) {
      const int64_t pixel = g.pixel_of(window, g.tap(t));
      if (pixel >= 0) sum += x.get(pixel * g.s.c + channel) * w.get(o * taps + t);
    }
    y.set(e, bias.data ? sum + bias.get(o) : sum);
  }
}

template <class C>
__global__ void depthwise_input_grad_kernel(Geometry g, Elements<C> dy, Elements<C> w,
                                            Elements<C> dx) {
  const int64_t all = g.s.n * g.s.h * g.s.w * g.s.c, taps = g.s.taps();
  for (int64_t e = first_index(); e < all; e += total_threads()) {
    const int64_t channel = e % g.s.c;
    const Place pixel = g.pixel(e / g.s.c);
    C sum = 0;
    for (int64_t t = 0; t < taps; ++t) {
      const int64_t window = g.window_of(pixel, g.tap(t));
      if (window < 0) continue;
      for (int64_t o = channel * g.outputs; o < (channel + 1) * g.outputs; ++o)
        sum += dy.get(window * g.s.o + o) * w.get(o * taps + t);
    }
    dx.set(e, sum);
  }
}

// Weights are numbered [tap, O] here, so that neighbouring threads have neighbouring channels.
template <class C>
__global__ void depthwise_weight_grad_kernel(Geometry g, DepthwiseParts cut, Elements<C> x,
                                             Elements<C> dy, C* partial) {
  const int64_t weights = g.s.taps() * g.s.o, windows = g.s.n * g.s.p * g.s.q;
  for (int64_t e = first_index(); e < cut.parts * weights; e += total_threads()) {
    const int64_t part = e / weights, o = e % g.s.o, channel = o / g.outputs;
    const Place tap = g.tap(e % weights / g.s.o);
    const int64_t limit = (part + 1) * cut.windows, end = limit < windows ? limit : windows;
    C sum = 0;
    for (int64_t i = part * cut.windows; i < end; ++i) {
      const int64_t pixel = g.pixel_of(g.window(i), tap);
      if (pixel >= 0) sum += x.get(pixel * g.s.c + channel) * dy.get(i * g.s.o + o);
    }
    partial[e] = sum;
  }
}

template <class C>
__global__ void add_weight_grads_kernel(const C* partial, int64_t parts, int64_t taps,
                                        int64_t outputs, Elements<C> dw) {
  for (int64_t e = first_index(); e < taps * outputs; e += total_threads()) {
    C sum = 0;
    for (int64_t part = 0; part < parts; ++part) sum += partial[part * taps * outputs + e];
    dw.set(e % outputs * taps + e / outputs, sum);
  }
}

bool by_library(const Call& call, const ConvSizes& s, Convolution::Kind kind) {
  if (!convolve_by_library || s.depthwise()) return false;
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
  const Geometry g(s);
  visit_floating_elements(call.out[0].dtype(), [&]<class C>() {
    const auto x = elements<C>(call.in[0]), w = elements<C>(call.in[1]);
    const auto bias = call.in.size() == 3 ? elements<C>(call.in[2]) : Elements<C>();
    const auto y = elements<C>(call.out[0]);
    if (s.depthwise())
      launch(depthwise_kernel<C>, blocks_for(s.n * s.p * s.q * s.o), kThreads, g, x, w, bias, y);
    else
      run_product<C>(Forward<C>{g, x, w, bias, y}, s.groups, s.n * s.p * s.q, g.outputs,
                     s.taps() * g.inputs, call.workspace.data());
  });
}

void conv2d_input_grad_cuda(const Call& call) {
  const ConvSizes s = conv2d_input_grad_sizes(metas_of(call.in), call.attrs);
  if (by_library(call, s, Convolution::Kind::input_grad)) return;
  const Geometry g(s);
  visit_floating_elements(call.out[0].dtype(), [&]<class C>() {
    const auto dy = elements<C>(call.in[0]), w = elements<C>(call.in[1]);
    const auto dx = elements<C>(call.out[0]);
    if (s.depthwise())
      launch(depthwise_input_grad_kernel<C>, blocks_for(s.n * s.h * s.w * s.c), kThreads, g, dy, w,
             dx);
    else
      run_product<C>(InputGrad<C>{g, dy, w, dx}, s.groups, s.n * s.h * s.w, g.inputs,
                     s.taps() * g.outputs, call.workspace.data());
  });
}

void conv2d_weight_grad_cuda(const Call& call) {
  const ConvSizes s = conv2d_weight_grad_sizes(metas_of(call.in), call.attrs);
  if (by_library(call, s, Convolution::Kind::weight_grad)) return;
  const Geometry g(s);
  visit_floating_elements(call.out[0].dtype(), [&]<class C>() {
    const auto x = elements<C>(call.in[0]), dy = elements<C>(call.in[1]);
    const auto dw = elements<C>(call.out[0]);
    if (!s.depthwise())
      return run_product<C>(WeightGrad<C>{g, x, dy, dw}, s.groups, g.outputs, s.taps() * g.inputs,
                            s.n * s.p * s.q, call.workspace.data());
    const DepthwiseParts cut(s);
    C* const partial = reinterpret_cast<C*>(call.workspace.data());
    const int64_t weights = s.o * s.taps();
    launch(depthwise_weight_grad_kernel<C>, blocks_for(cut.parts * weights), kThreads, g, cut, x,
           dy, partial);
    launch(add_weight_grads_kernel<C>, blocks_for(weights), kThreads, partial, cut.parts, s.taps(),
           s.o, dw);
  });
}

}  // namespace plimsoll
