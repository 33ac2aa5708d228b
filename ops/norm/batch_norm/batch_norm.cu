#include <numeric>

#include "core/cpu/parallel.h"
#include "core/cuda/elements.cuh"
#include "ops/common/moments.cuh"
#include "ops/norm/batch_norm/attrs.h"
#include "ops/norm/common/parameter_grad.cuh"

namespace plimsoll {
namespace {

using namespace cuda;
using batch_norm_detail::BatchNormAttrs, batch_norm_detail::RunningAttrs;

template <class C>
struct ChannelStatistics : Moments<C> {
  C *mean, *variance, *inverse, *tail;
  double eps;
  __device__ void finish(int64_t c, const typename Moments<C>::State& s) const {
    const double m = s.mean(this->n), v = s.deviations(this->n) / this->n;
    mean[c] = static_cast<C>(m);
    variance[c] = static_cast<C>(v);
    inverse[c] = static_cast<C>(1 / std::sqrt(v + eps));
    tail[c] = static_cast<C>(m - static_cast<double>(mean[c]));
  }
};

// xhat of an element; tail is what the rounding of mean left out.
template <class C>
__device__ C normalised(C value, C mean, C tail, C inverse) {
  return (value - mean - tail) * inverse;
}

// The largest number that is stored as zero.
template <class C>
__device__ C stored_as_zero(DType dtype) {
  return dtype == DType::f16    ? kRoundsToZero<Half, C>
         : dtype == DType::bf16 ? kRoundsToZero<BFloat16, C>
                                : C(0);
}

// (x - mean) inverse of elements, whose channels lie side by side.
template <class C>
struct ChannelNormal {
  Elements<C> x;
  const C *mean, *inverse, *tail;
  int64_t channels;
  const C *gamma = nullptr, *beta = nullptr;  // where relu comes behind it
  __device__ C of(C value, int64_t c, int64_t) const {
    return normalised(value, mean[c], tail[c], inverse[c]);
  }
  __device__ C gradient(C dy, C xhat, int64_t c) const {
    return beta ? behind_relu(dy, xhat, gamma[c], beta[c]) : dy;
  }
  __device__ C behind_relu(C dy, C xhat, C scale, C shift) const {
    return xhat * scale + shift > stored_as_zero<C>(x.dtype) ? dy : C(0);
  }
};

// What the channels of the elements of a pack have in `of`; the pack begins with element i.
template <class C>
__device__ void by_channel(const C* of, int64_t i, int64_t channels, C (&values)[kPack]) {
  if (channels % kPack == 0) {
    const Pack<C> pack = read_pack(of, i % channels, channels);
    for (int j = 0; j < kPack; ++j) values[j] = pack.of[j];
  } else {
    for (int j = 0; j < kPack; ++j) values[j] = of[(i + j) % channels];
  }
}

// f(i, all of `of` for a pack) for the packs of n elements that are this thread's. Where its steps
// are whole rows, what its channels have is read once.
template <class C, size_t N, class F>
__device__ void for_each_pack(const C* const (&of)[N], int64_t channels, int64_t n, const F& f) {
  const int64_t step = total_threads() * kPack;
  const bool once = step % channels == 0;
  C own[N][kPack];
  for (int64_t i = first_index() * kPack; i < n; i += step) {
    if (!once || i < step)
      for (size_t k = 0; k < N; ++k) by_channel(of[k], i, channels, own[k]);
    f(i, own);
  }
}

// Blocks for n elements: where each thread has several packs, so many that its steps are whole rows
// if that takes no more than twice as many.
int64_t blocks_of_rows(int64_t n, int64_t channels) {
  const int64_t even = channels / std::gcd(channels, int64_t{kThreads} * kPack);
  const int64_t blocks = blocks_for(packs_in(n));
  return blocks == kMostBlocks && even < kMostBlocks ? pieces(blocks, even) * even : blocks;
}

template <class C>
__global__ void batch_norm_kernel(ChannelNormal<C> normal, const C* gamma, const C* beta,
                                  Elements<C> y, int64_t n, bool relu) {
  const C* const of[] = {normal.mean, normal.tail, normal.inverse, gamma, beta};
  for_each_pack(of, normal.channels, n, [&](int64_t i, const C(&own)[5][kPack]) {
    const auto& [mean, tail, inverse, scale, shift] = own;
    C values[kPack];
    normal.x.get(i, n, values);
    for (int j = 0; j < kPack; ++j) {
      values[j] = normalised(values[j], mean[j], tail[j], inverse[j]) * scale[j] + shift[j];
      if (relu && values[j] <= 0) values[j] = 0;
    }
    y.set(i, n, values);
  });
}

// share: 1 / R
template <class C>
__global__ void batch_norm_grad_kernel(Elements<C> dy, ChannelNormal<C> normal, const C* gamma,
                                       const C* dgamma, const C* dbeta, C share, Elements<C> dx,
                                       int64_t n) {
  const C* const shifts = normal.beta ? normal.beta : gamma;
  const C* const of[] = {normal.mean, normal.tail, normal.inverse, gamma, dgamma, dbeta, shifts};
  for_each_pack(of, normal.channels, n, [&](int64_t i, const C(&own)[7][kPack]) {
    const auto& [mean, tail, inverse, scale, of_gamma, of_beta, shift] = own;
    C values[kPack], d[kPack];
    normal.x.get(i, n, values);
    dy.get(i, n, d);
    for (int j = 0; j < kPack; ++j) {
      const C xhat = normalised(values[j], mean[j], tail[j], inverse[j]);
      if (normal.beta) d[j] = normal.behind_relu(d[j], xhat, scale[j], shift[j]);
      d[j] = scale[j] * inverse[j] * (d[j] - share * (of_beta[j] + xhat * of_gamma[j]));
    }
    dx.set(i, n, d);
  });
}

// What normalising by given statistics needs beside them: a mean that is given has no tail.
template <class C>
__global__ void given_kernel(const C* variance, C* inverse, C* tail, int64_t n, double eps) {
  for (int64_t c = first_index(); c < n; c += total_threads()) {
    inverse[c] = static_cast<C>(1 / std::sqrt(static_cast<double>(variance[c]) + eps));
    tail[c] = 0;
  }
}

template <class C>
__global__ void running_kernel(Elements<C> mean, Elements<C> variance, Elements<C> batch_mean,
                               Elements<C> batch_variance, int64_t n, int64_t all,
                               const int64_t* some, double momentum, double unbiased) {
  const int64_t batches = some && *some < all ? *some : all;
  const auto blend = [&](const Elements<C>& running, const Elements<C>& now, int64_t c,
                         double scale) {
    for (int64_t b = 0; b < batches; ++b) {
      const double old = static_cast<double>(running.get(c));
      const double fresh = static_cast<double>(now.get(b * n + c)) * scale;
      running.set(c, static_cast<C>((1 - momentum) * old + momentum * fresh));
    }
  };
  for (int64_t c = first_index(); c < n; c += total_threads()) {
    blend(mean, batch_mean, c, 1);
    blend(variance, batch_variance, c, unbiased);
  }
}

void forward(const Call& call, bool relu) {
  const View &x = call.in[0], &y = call.out[0];
  const auto [rows, channels] = batch_norm_detail::rows_of(x.shape());
  const int64_t n = rows * channels;
  visit_floating_elements(x.dtype(), [&, r = rows, d = channels]<class C>() {
    C *mean = call.out[1].as<C>(), *variance = call.out[2].as<C>();
    C *inverse = call.out[3].as<C>(), *tail = call.out[4].as<C>();
    const ChannelStatistics<C> statistics{
        {elements<C>(x), r}, mean, variance, inverse, tail, call.attrs.as<BatchNormAttrs>().eps};
    reduce({1, r, d}, statistics, call.workspace);
    launch(batch_norm_kernel<C>, blocks_of_rows(n, d), kThreads,
           ChannelNormal<C>{elements<C>(x), mean, inverse, tail, d}, call.in[1].as<C>(),
           call.in[2].as<C>(), elements<C>(y), n, relu);
  });
}

// Inputs: dy, x, gamma, mean, inverse standard deviation, tail; with relu also beta. Outputs: dx,
// dgamma, dbeta.
void backward(const Call& call) {
  const View &dy = call.in[0], &x = call.in[1];
  const auto [rows, channels] = batch_norm_detail::rows_of(x.shape());
  const int64_t n = rows * channels;
  visit_floating_elements(x.dtype(), [&, r = rows, d = channels]<class C>() {
    const ChannelNormal<C> normal{elements<C>(x),
                                  call.in[3].as<C>(),
                                  call.in[4].as<C>(),
                                  call.in[5].as<C>(),
                                  d,
                                  call.in[2].as<C>(),
                                  call.in.size() > 6 ? call.in[6].as<C>() : nullptr};
    C *dgamma = call.out[1].as<C>(), *dbeta = call.out[2].as<C>();
    parameter_gradients(r, d, dy, normal, dgamma, dbeta, call.workspace);
    launch(batch_norm_grad_kernel<C>, blocks_of_rows(n, d), kThreads, elements<C>(dy), normal,
           call.in[2].as<C>(), dgamma, dbeta, C(1) / static_cast<C>(r), elements<C>(call.out[0]),
           n);
  });
}

// Inputs: x, gamma, beta, mean, variance. Output: y, which may take the memory of x.
void inference(const Call& call, bool relu) {
  const View &x = call.in[0], &y = call.out[0];
  const auto [rows, channels] = batch_norm_detail::rows_of(x.shape());
  const int64_t n = rows * channels;
  visit_floating_elements(x.dtype(), [&, d = channels]<class C>() {
    C *inverse = reinterpret_cast<C*>(call.workspace.data()), *tail = inverse + d;
    launch(given_kernel<C>, blocks_for(d), kThreads, call.in[4].as<C>(), inverse, tail, d,
           call.attrs.as<BatchNormAttrs>().eps);
    launch(batch_norm_kernel<C>, blocks_of_rows(n, d), kThreads,
           ChannelNormal<C>{elements<C>(x), call.in[3].as<C>(), inverse, tail, d},
           call.in[1].as<C>(), call.in[2].as<C>(), elements<C>(y), n, relu);
  });
}

}  // namespace

void batch_norm_cuda(const Call& call) { forward(call, false); }
void batch_norm_relu_cuda(const Call& call) { forward(call, true); }
void batch_norm_inference_cuda(const Call& call) { inference(call, false); }
void batch_norm_inference_relu_cuda(const Call& call) { inference(call, true); }
void batch_norm_grad_cuda(const Call& call) { backward(call); }
void batch_norm_relu_grad_cuda(const Call& call) { backward(call); }

void update_running_stats_cuda(const Call& call) {
  const auto& [momentum, n] = call.attrs.as<RunningAttrs>();
  const double unbiased = n > 1 ? static_cast<double>(n) / static_cast<double>(n - 1) : 1;
  const std::span<const View> in = call.in;
  const int64_t channels = count(in[0].shape());
  const int64_t all = channels == 0 ? 0 : count(in[2].shape()) / channels;
  const int64_t* const some = in.size() > 4 ? in[4].as<int64_t>() : nullptr;
  visit_floating_elements(in[0].dtype(), [&, share = momentum]<class C>() {
    launch(running_kernel<C>, blocks_for(channels), kThreads, elements<C>(in[0]),
           elements<C>(in[1]), elements<C>(in[2]), elements<C>(in[3]), channels, all, some, share,
           unbiased);
  });
}

}  // namespace plimsoll
