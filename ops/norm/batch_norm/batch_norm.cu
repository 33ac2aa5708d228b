#include "core/cuda/elements.cuh"
#include "ops/common/many.cuh"
#include "ops/norm/batch_norm/attrs.h"
#include "ops/norm/common/column_packs.cuh"

namespace plimsoll {
namespace {

using namespace cuda;
using batch_norm_detail::BatchNormAttrs, batch_norm_detail::RunningAttrs;

// What a thread adds up in: elements of 16 bits in float, as each conversion to double takes longer
// than to load one; the sums of several threads are in double.
template <class T>
using OwnSum = std::conditional_t<is_16_bit<T>, float, double>;

// Numbers of N neighbouring channels.
template <class C, int N>
struct Channels {
  C at[N];
  __device__ Channels(const C* from, int64_t column) {
    for (int j = 0; j < N; ++j) at[j] = from[column + j];
  }
};

// Rows whose deviations are added up before the sums go to double.
constexpr int kGroup = 8;

// Sums of d and d^2, d being the deviation from the channel's first element, which make the
// variance by a difference. A group of rows is added up relative to its own first row, in OwnSum,
// and moved to the channel's first element in double.
//
// Relative to one of n numbers the sum of squares is at most n times that relative to their mean,
// so a difference of such sums loses at most a factor of n, whatever the numbers are. Within a
// group n is kGroup, and rounding to float makes an error below 2^-16 of the variance:
// with u = 2^-24, kGroup (kGroup + 3) u by d and d^2, and 2 kGroup (kGroup + 1) u by the group's
// mean. In double n is R.
template <class C, int N>
struct AddDeviations {
  Elements<C> x;
  __device__ void operator()(const PackRows& own, double (&total)[2][N]) const {
    own.visit<N>(x, [&]<class T, class P>() {
      using Sum = OwnSum<T>;
      const auto channel = load<P>(at<T>(x) + own.column);
      for (int64_t i = own.first; i < own.last; i += kGroup * own.stride) {
        const auto first = load<P>(at<T>(x) + i);
        Sum sums[2][N] = {};
        int rows = 1;
#pragma unroll
        for (int k = 1; k < kGroup; ++k) {
          const int64_t next = i + k * own.stride;
          const bool there = next < own.last;
          const auto pack = load<P>(at<T>(x) + (there ? next : i));  // the first adds nothing
          rows += there;
          for (int j = 0; j < N; ++j) {
            const Sum d = to_register<Sum>(pack.at[j]) - to_register<Sum>(first.at[j]);
            sums[0][j] += d;
            sums[1][j] += d * d;
          }
        }
        for (int j = 0; j < N; ++j) {
          const double shift =
              to_register<double>(first.at[j]) - to_register<double>(channel.at[j]);
          const double sum = static_cast<double>(sums[0][j]), all = rows * shift;
          total[0][j] += all + sum;
          total[1][j] += static_cast<double>(sums[1][j]) + shift * (all + 2 * sum);
        }
      }
    });
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

template <class C, int N>
struct Normalise {
  Elements<C> x, y;
  const C *gamma, *beta, *mean, *inverse, *tail;
  __device__ void operator()(const PackRows& own) const {
    const Channels<C, N> m(mean, own.column), rest(tail, own.column), inv(inverse, own.column);
    const Channels<C, N> scale(gamma, own.column), shift(beta, own.column);
    own.visit<N>(x, [&]<class T, class P>() {
      for (int64_t i = own.first; i < own.last; i += own.stride) {
        auto pack = load<P>(at<T>(x) + i);
        for (int j = 0; j < N; ++j) {
          const C normal = (to_register<C>(pack.at[j]) - m.at[j] - rest.at[j]) * inv.at[j];
          pack.at[j] = to_memory<T>(normal * scale.at[j] + shift.at[j]);
        }
        store(at<T>(y) + i, pack);
      }
    });
  }
};

// The sums of dy and dy n. Those of a thread's rows r, in float, have errors below r 2^-24 of the
// sum of absolute values: for up to 2^12 rows, which a thread has of 2^32 elements, no more than
// rounding dy to 16 bits makes.
template <class C, int N>
struct AddGradients {
  Elements<C> dy, x;
  const C *mean, *inverse, *tail;
  __device__ void operator()(const PackRows& own, double (&total)[2][N]) const {
    const Channels<C, N> m(mean, own.column), rest(tail, own.column), inv(inverse, own.column);
    own.visit<N>(x, [&]<class T, class P>() {
      using Sum = OwnSum<T>;
      Sum sums[2][N] = {};
      for (int64_t i = own.first; i < own.last; i += own.stride) {
        const auto gradients = load<P>(at<T>(dy) + i);
        const auto pack = load<P>(at<T>(x) + i);
        for (int j = 0; j < N; ++j) {
          const C g = to_register<C>(gradients.at[j]);
          const C normal = (to_register<C>(pack.at[j]) - m.at[j] - rest.at[j]) * inv.at[j];
          sums[0][j] += static_cast<Sum>(g);
          sums[1][j] += static_cast<Sum>(g * normal);
        }
      }
      for (int k = 0; k < 2; ++k)
        for (int j = 0; j < N; ++j) total[k][j] = static_cast<double>(sums[k][j]);
    });
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

template <class C, int N>
struct Gradient {
  Elements<C> dy, x, dx;
  const C *gamma, *mean, *inverse, *tail, *dgamma, *dbeta;
  C share;  // 1 / R
  __device__ void operator()(const PackRows& own) const {
    const Channels<C, N> m(mean, own.column), rest(tail, own.column), inv(inverse, own.column);
    const Channels<C, N> sum(dbeta, own.column), weighted(dgamma, own.column);
    Channels<C, N> slope(gamma, own.column);
    for (int j = 0; j < N; ++j) slope.at[j] *= inv.at[j];
    own.visit<N>(x, [&]<class T, class P>() {
      for (int64_t i = own.first; i < own.last; i += own.stride) {
        auto pack = load<P>(at<T>(x) + i);
        const auto gradients = load<P>(at<T>(dy) + i);
        for (int j = 0; j < N; ++j) {
          const C normal = (to_register<C>(pack.at[j]) - m.at[j] - rest.at[j]) * inv.at[j];
          const C g = to_register<C>(gradients.at[j]);
          pack.at[j] =
              to_memory<T>(slope.at[j] * (g - share * (sum.at[j] + normal * weighted.at[j])));
        }
        store(at<T>(dx) + i, pack);
      }
    });
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

// Calls f.template operator()<N>(cut, packs) with the cut of x for the channels that a thread has;
// packs: `moved` lie where they can be moved at once.
template <class C, class F>
void with_cut(const View& x, std::initializer_list<View> moved, const F& f) {
  const auto [rows, channels] = batch_norm_detail::rows_of(x.shape());
  const PackCut cut(rows, channels, x.dtype());
  if constexpr (kMovesPacks<C>)
    if (cut.neighbours == kTogether) {
      const auto packs = [&](const View& view) { return in_packs(view, cut.columns); };
      return f.template operator()<kTogether>(cut, std::ranges::all_of(moved, packs));
    }
  f.template operator()<1>(cut, false);
}

}  // namespace

void batch_norm_cuda(const Call& call) {
  const View &x = call.in[0], &y = call.out[0];
  visit_floating_elements(x.dtype(), [&]<class C>() {
    const auto in = [&](size_t k) { return call.in[k].as<C>(); };
    const auto out = [&](size_t k) { return call.out[k].as<C>(); };
    with_cut<C>(x, {x, y}, [&]<int N>(const PackCut& cut, bool packs) {
      sum_packs<2, N>(
          cut, packs, call.workspace.data(), AddDeviations<C, N>{elements<C>(x)},
          StoreStatistics<C>{elements<C>(x), out(1), out(2), out(3), out(4),
                             static_cast<double>(cut.rows), call.attrs.as<BatchNormAttrs>().eps});
      for_packs<N>(
          cut, packs,
          Normalise<C, N>{elements<C>(x), elements<C>(y), in(1), in(2), out(1), out(3), out(4)});
    });
  });
}

// Inputs: dy, x, gamma, mean, inverse standard deviation, tail. Outputs: dx, dgamma, dbeta.
void batch_norm_grad_cuda(const Call& call) {
  const View &dy = call.in[0], &x = call.in[1], &dx = call.out[0];
  visit_floating_elements(x.dtype(), [&]<class C>() {
    const auto in = [&](size_t k) { return call.in[k].as<C>(); };
    C *dgamma = call.out[1].as<C>(), *dbeta = call.out[2].as<C>();
    with_cut<C>(x, {dy, x, dx}, [&]<int N>(const PackCut& cut, bool packs) {
      sum_packs<2, N>(cut, packs, call.workspace.data(),
                      AddGradients<C, N>{elements<C>(dy), elements<C>(x), in(3), in(4), in(5)},
                      StoreGradients<C>{dgamma, dbeta});
      for_packs<N>(cut, packs,
                   Gradient<C, N>{elements<C>(dy), elements<C>(x), elements<C>(dx), in(2), in(3),
                                  in(4), in(5), dgamma, dbeta, C(1) / static_cast<C>(cut.rows)});
    });
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
