#include "core/cuda/elements.cuh"
#include "ops/common/many.cuh"
#include "ops/norm/batch_norm/attrs.h"
#include "ops/norm/common/columns.cuh"

namespace plimsoll {
namespace {

using namespace cuda;
using batch_norm_detail::BatchNormAttrs, batch_norm_detail::RunningAttrs;

// Sums of d and d^2 for each channel, d being the deviation from its first element. The variance is
// made by a difference of them: relative to one of R numbers the sum of squares is at most R times
// that relative to their mean, so no more than a factor of R is lost in double, whatever the numbers.
template <class C>
struct AddChannelDeviations {
  Elements<C> x;
  int64_t channels;
  __device__ void operator()(int64_t row, int64_t c, double (&total)[2]) const {
    const double d = static_cast<double>(x.get(row * channels + c)) - static_cast<double>(x.get(c));
    total[0] += d;
    total[1] += d * d;
  }
};

template <class C>
struct StoreChannelStatistics {
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
struct NormaliseChannel {
  Elements<C> x, y;
  const C *gamma, *beta, *mean, *inverse, *tail;
  int64_t channels;
  __device__ void operator()(int64_t, int64_t c, const Rows& rows) const {
    const C m = mean[c], rest = tail[c], inv = inverse[c], scale = gamma[c], shift = beta[c];
    for (int64_t row = rows.begin; row < rows.end; row += kRowLanes) {
      const int64_t i = row * channels + c;
      y.set(i, (x.get(i) - m - rest) * inv * scale + shift);
    }
  }
};

// The sums of dy and dy n, where n = (x - mean) inverse.
template <class C>
struct AddChannelGradients {
  Elements<C> dy, x;
  const C *mean, *inverse, *tail;
  int64_t channels;
  __device__ void operator()(int64_t row, int64_t c, double (&total)[2]) const {
    const int64_t i = row * channels + c;
    const C d = dy.get(i), normal = (x.get(i) - mean[c] - tail[c]) * inverse[c];
    total[0] += static_cast<double>(d);
    total[1] += static_cast<double>(d * normal);
  }
};

template <class C>
struct StoreChannelGradients {
  C *dgamma, *dbeta;
  __device__ void operator()(int64_t, int64_t c, const double (&total)[2]) const {
    dbeta[c] = static_cast<C>(total[0]);
    dgamma[c] = static_cast<C>(total[1]);
  }
};

template <class C>
struct ChannelGradient {
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

// Of a chunk: the running mean and variance, and those of the batch.
template <class C>
__global__ void running_kernel(Many<C, 4> many, double momentum, double unbiased) {
  const auto chunk = many.chunk(blockIdx.x);
  const auto blend = [&](const Row<C>& running, const Row<C>& now, int64_t c, double scale) {
    const double old = static_cast<double>(running.get(c));
    const double fresh = static_cast<double>(now.get(c)) * scale;
    running.set(c, static_cast<C>((1 - momentum) * old + momentum * fresh));
  };
  for (int64_t c = threadIdx.x; c < chunk.n; c += blockDim.x) {
    blend(chunk.row[0], chunk.row[2], c, 1);
    blend(chunk.row[1], chunk.row[3], c, unbiased);
  }
}

ColumnCut cut_of(const View& x) {
  const auto [rows, channels] = batch_norm_detail::rows_of(x.shape());
  return ColumnCut(rows, channels);
}

}  // namespace

void batch_norm_cuda(const Call& call) {
  const ColumnCut cut = cut_of(call.in[0]);
  const double eps = call.attrs.as<BatchNormAttrs>().eps;
  visit_floating_elements(call.in[0].dtype(), [&]<class C>() {
    const Elements<C> x = elements<C>(call.in[0]), y = elements<C>(call.out[0]);
    const C *gamma = call.in[1].as<C>(), *beta = call.in[2].as<C>();
    C *mean = call.out[1].as<C>(), *variance = call.out[2].as<C>();
    C *inverse = call.out[3].as<C>(), *tail = call.out[4].as<C>();
    sum_columns<2>(cut, call.workspace.data(), AddChannelDeviations<C>{x, cut.columns},
                   StoreChannelStatistics<C>{x, mean, variance, inverse, tail,
                                             static_cast<double>(cut.rows), eps});
    for_columns(cut, NormaliseChannel<C>{x, y, gamma, beta, mean, inverse, tail, cut.columns});
  });
}

// Inputs: dy, x, gamma, mean, inverse standard deviation, tail. Outputs: dx, dgamma, dbeta.
void batch_norm_grad_cuda(const Call& call) {
  const ColumnCut cut = cut_of(call.in[1]);
  visit_floating_elements(call.in[1].dtype(), [&]<class C>() {
    const Elements<C> dy = elements<C>(call.in[0]), x = elements<C>(call.in[1]);
    const C *gamma = call.in[2].as<C>(), *mean = call.in[3].as<C>();
    const C *inverse = call.in[4].as<C>(), *tail = call.in[5].as<C>();
    C *dgamma = call.out[1].as<C>(), *dbeta = call.out[2].as<C>();
    sum_columns<2>(cut, call.workspace.data(),
                   AddChannelGradients<C>{dy, x, mean, inverse, tail, cut.columns},
                   StoreChannelGradients<C>{dgamma, dbeta});
    for_columns(
        cut, ChannelGradient<C>{dy, x, elements<C>(call.out[0]), gamma, mean, inverse, tail, dgamma,
                                dbeta, cut.columns, C(1) / static_cast<C>(cut.rows)});
  });
}

void update_running_stats_cuda(const Call& call) {
  const auto& [momentum, n] = call.attrs.as<RunningAttrs>();
  const double unbiased = n > 1 ? static_cast<double>(n) / static_cast<double>(n - 1) : 1;
  std::vector<Together<4>> statistics;
  for_calls(call, 4, [&](std::span<const View> in) {
    statistics.push_back({&in[0], &in[1], &in[2], &in[3]});
  });
  for_many<4>(statistics, [&, share = momentum]<class C>(const Many<C, 4>& many, int64_t) {
    launch(running_kernel<C>, many.chunks(), kThreads, many, share, unbiased);
  });
}

}  // namespace plimsoll
