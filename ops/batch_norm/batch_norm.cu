#include "core/cuda/elements.cuh"
#include "ops/batch_norm/kernels.h"
#include "ops/columns.cuh"

namespace plimsoll {
namespace {

using namespace cuda;
using batch_norm_detail::BatchNormAttrs, batch_norm_detail::RunningAttrs;

// Sums of d and d^2, d being the deviation from the channel's first element: of the same size as
// the channel's spread, so that nothing is lost when one is taken from the other in double.
template <class C>
struct AddDeviations {
  Elements<C> x;
  int64_t channels;
  __device__ void operator()(int64_t row, int64_t c, double (&total)[2]) const {
    const double d = static_cast<double>(x.get(row * channels + c)) - static_cast<double>(x.get(c));
    total[0] += d;
    total[1] += d * d;
  }
};

template <class C>
struct StoreStatistics {
  Elements<C> x;
  C *mean, *variance, *inverse, *tail;
  double rows, eps;
  __device__ void operator()(int64_t, int64_t c, const double (&total)[2]) const {
    const double shift = total[0] / rows, m = static_cast<double>(x.get(c)) + shift;
    const double difference = total[1] / rows - shift * shift;
    const double v = difference < 0 ? 0 : difference;
    mean[c] = static_cast<C>(m);
    variance[c] = static_cast<C>(v);
    inverse[c] = static_cast<C>(1 / std::sqrt(v + eps));
    tail[c] = static_cast<C>(m - static_cast<double>(mean[c]));
  }
};

template <class C>
struct Normalise {
  Elements<C> x, y;
  const C *gamma, *beta, *mean, *inverse, *tail;
  int64_t channels;
  __device__ void operator()(int64_t, int64_t c, const Rows& rows) const {
    const C m = mean[c], rest = tail[c], inv = inverse[c], scale = gamma[c], shift = beta[c];
    for (int64_t row = rows.begin; row < rows.end; row += kRowLanes) {
      const C normal = (x.get(row * channels + c) - m - rest) * inv;
      y.set(row * channels + c, normal * scale + shift);
    }
  }
};

// The sums of dy and dy n.
template <class C>
struct AddGradients {
  Elements<C> dy, x;
  const C *mean, *inverse, *tail;
  int64_t channels;
  __device__ void operator()(int64_t row, int64_t c, double (&total)[2]) const {
    const C g = dy.get(row * channels + c);
    const C normal = (x.get(row * channels + c) - mean[c] - tail[c]) * inverse[c];
    total[0] += static_cast<double>(g);
    total[1] += static_cast<double>(g * normal);
  }
};

template <class C>
struct StoreGradients {
  C *dgamma, *dbeta;
  __device__ void operator()(int64_t, int64_t c, const double (&total)[2]) const {
    dbeta[c] = static_cast<C>(total[0]);
    dgamma[c] = static_cast<C>(total[1]);
  }
};

template <class C>
struct Gradient {
  Elements<C> dy, x, dx;
  const C *gamma, *mean, *inverse, *tail, *dgamma, *dbeta;
  int64_t channels;
  C share;  // 1 / R
  __device__ void operator()(int64_t, int64_t c, const Rows& rows) const {
    const C m = mean[c], rest = tail[c], inv = inverse[c], slope = gamma[c] * inv;
    const C sum = dbeta[c], weighted = dgamma[c];
    for (int64_t row = rows.begin; row < rows.end; row += kRowLanes) {
      const int64_t i = row * channels + c;
      const C normal = (x.get(i) - m - rest) * inv;
      dx.set(i, slope * (dy.get(i) - share * (sum + normal * weighted)));
    }
  }
};

template <class C>
__global__ void running_kernel(Elements<C> running_mean, Elements<C> running_variance,
                               Elements<C> mean, Elements<C> variance, double momentum,
                               double unbiased, int64_t channels) {
  const auto blend = [&](const Elements<C>& running, const Elements<C>& now, int64_t c,
                         double scale) {
    const double old = static_cast<double>(running.get(c));
    const double fresh = static_cast<double>(now.get(c)) * scale;
    running.set(c, static_cast<C>((1 - momentum) * old + momentum * fresh));
  };
  for (int64_t c = first_index(); c < channels; c += total_threads()) {
    blend(running_mean, mean, c, 1);
    blend(running_variance, variance, c, unbiased);
  }
}

ColumnCut cut_of(const Shape& x) {
  const auto [rows, channels] = batch_norm_detail::rows_of(x);
  return ColumnCut(rows, channels);
}

}  // namespace

void batch_norm_cuda(const Call& call) {
  const View &x = call.in[0], &y = call.out[0];
  const ColumnCut cut = cut_of(x.shape());
  visit_floating_elements(x.dtype(), [&]<class C>() {
    const auto in = [&](size_t k) { return call.in[k].as<C>(); };
    const auto out = [&](size_t k) { return call.out[k].as<C>(); };
    sum_columns<2>(
        cut, call.workspace.data(), AddDeviations<C>{elements<C>(x), cut.columns},
        StoreStatistics<C>{elements<C>(x), out(1), out(2), out(3), out(4),
                           static_cast<double>(cut.rows), call.attrs.as<BatchNormAttrs>().eps});
    for_columns(cut, Normalise<C>{elements<C>(x), elements<C>(y), in(1), in(2), out(1), out(3),
                                  out(4), cut.columns});
  });
}

void batch_norm_grad_cuda(const Call& call) {
  const auto dy = call.in[0], x = call.in[1], dx = call.out[0];
  const ColumnCut cut = cut_of(x.shape());
  visit_floating_elements(x.dtype(), [&]<class C>() {
    const auto in = [&](size_t k) { return call.in[k].as<C>(); };
    C *dgamma = call.out[1].as<C>(), *dbeta = call.out[2].as<C>();
    sum_columns<2>(
        cut, call.workspace.data(),
        AddGradients<C>{elements<C>(dy), elements<C>(x), in(3), in(4), in(5), cut.columns},
        StoreGradients<C>{dgamma, dbeta});
    for_columns(cut,
                Gradient<C>{elements<C>(dy), elements<C>(x), elements<C>(dx), in(2), in(3), in(4),
                            in(5), dgamma, dbeta, cut.columns, C(1) / static_cast<C>(cut.rows)});
  });
}

void update_running_stats_cuda(const Call& call) {
  const auto& [momentum, n] = call.attrs.as<RunningAttrs>();
  const double unbiased = n > 1 ? static_cast<double>(n) / static_cast<double>(n - 1) : 1;
  const int64_t channels = count(call.in[0].shape());
  if (channels == 0) return;
  visit_floating_elements(call.in[0].dtype(), [&, share = momentum]<class C>() {
    launch(running_kernel<C>, blocks_for(channels), kThreads, elements<C>(call.in[0]),
           elements<C>(call.in[1]), elements<C>(call.in[2]), elements<C>(call.in[3]), share,
           unbiased, channels);
  });
}

}  // namespace plimsoll
