#include "core/cuda/elements.cuh"
#include "ops/arithmetic/formulas.h"
#include "ops/batch_norm/kernels.h"
#include "ops/column_packs.cuh"
#include "ops/relu/formulas.h"

namespace plimsoll {
namespace {

using namespace cuda;
using batch_norm_detail::BatchNormAttrs, batch_norm_detail::RunningAttrs;

// What a thread adds up its own few elements in: those of 16 bits in float, as each conversion to
// double takes longer than to load one. All other sums are in double.
template <class T>
using OwnSum = std::conditional_t<is_16_bit<T>, float, double>;

template <class T, class C>
__device__ T* at(const Elements<C>& elements) {
  return reinterpret_cast<T*>(elements.data);
}

// As an op leaves it in memory for the next one.
template <class T, class C>
__device__ C rounded(C value) {
  return to_register<C>(to_memory<T>(value));
}

// Numbers of N neighbouring channels.
template <class C, int N>
struct Channels {
  C at[N];
  __device__ Channels(const C* from, int64_t column) {
    for (int j = 0; j < N; ++j) at[j] = from[column + j];
  }
};

// Sums of d and d^2, d being the deviation from the channel's first element: of the same size as
// the channel's spread, so that nothing is lost when one is taken from the other in double.
template <class C, int N>
struct AddDeviations {
  Elements<C> x;
  __device__ void operator()(const PackRows& own, double (&total)[2][N]) const {
    x.visit([&]<class T>() {
      using Sum = OwnSum<T>;
      Sum first[N], sums[2][N] = {};
      for (int j = 0; j < N; ++j)
        first[j] = static_cast<Sum>(to_register<C>(at<T>(x)[own.column + j]));
      for (int64_t i = own.first; i < own.last; i += own.stride) {
        const auto pack = load<N>(at<T>(x) + i);
        for (int j = 0; j < N; ++j) {
          const Sum d = static_cast<Sum>(to_register<C>(pack.at[j])) - first[j];
          sums[0][j] += d;
          sums[1][j] += d * d;
        }
      }
      for (int k = 0; k < 2; ++k)
        for (int j = 0; j < N; ++j) total[k][j] = static_cast<double>(sums[k][j]);
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

// kRelu: y = relu(normalised + residual), where a residual without data is left out.
template <class C, int N, bool kRelu>
struct Normalise {
  Elements<C> x, y, residual;
  const C *gamma, *beta, *mean, *inverse, *tail;
  __device__ void operator()(const PackRows& own) const {
    const Channels<C, N> m(mean, own.column), rest(tail, own.column), inv(inverse, own.column);
    const Channels<C, N> scale(gamma, own.column), shift(beta, own.column);
    x.visit([&]<class T>() {
      for (int64_t i = own.first; i < own.last; i += own.stride) {
        auto pack = load<N>(at<T>(x) + i);
        Pack<T, N> more{};
        if (kRelu && residual.data) more = load<N>(at<T>(residual) + i);
        for (int j = 0; j < N; ++j) {
          const C normal = (to_register<C>(pack.at[j]) - m.at[j] - rest.at[j]) * inv.at[j];
          C value = normal * scale.at[j] + shift.at[j];
          if constexpr (kRelu) {
            if (residual.data)
              value = formulas::Add::f(rounded<T>(value), to_register<C>(more.at[j]));
            value = formulas::Relu::f(rounded<T>(value));
          }
          pack.at[j] = to_memory<T>(value);
        }
        store(at<T>(y) + i, pack);
      }
    });
  }
};

// dy, as batch norm's own gradient gets it.
template <class C>
struct Given {
  Elements<C> dy;
  template <class T, int N>
  __device__ Pack<T, N> get(int64_t i) const {
    return load<N>(at<T>(dy) + i);
  }
};

// The same behind a relu whose output was y: dy, or dy + more, where y is positive; kept in g,
// which may be dy.
template <class C>
struct BehindRelu {
  Elements<C> dy, more, y, g;
  template <class T, int N>
  __device__ Pack<T, N> get(int64_t i) const {
    auto pack = load<N>(at<T>(dy) + i);
    const auto output = load<N>(at<T>(y) + i);
    Pack<T, N> added{};
    if (more.data) added = load<N>(at<T>(more) + i);
    for (int j = 0; j < N; ++j) {
      C gradient = to_register<C>(pack.at[j]);
      if (more.data) gradient = rounded<T>(formulas::Add::f(gradient, to_register<C>(added.at[j])));
      pack.at[j] = to_memory<T>(formulas::Relu::grad(gradient, to_register<C>(output.at[j])));
    }
    store(at<T>(g) + i, pack);
    return pack;
  }
};

// The sums of dy and dy n.
template <class C, int N, class Dy>
struct AddGradients {
  Dy dy;
  Elements<C> x;
  const C *mean, *inverse, *tail;
  __device__ void operator()(const PackRows& own, double (&total)[2][N]) const {
    const Channels<C, N> m(mean, own.column), rest(tail, own.column), inv(inverse, own.column);
    x.visit([&]<class T>() {
      using Sum = OwnSum<T>;
      Sum sums[2][N] = {};
      for (int64_t i = own.first; i < own.last; i += own.stride) {
        const auto gradients = dy.template get<T, N>(i);
        const auto pack = load<N>(at<T>(x) + i);
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
    x.visit([&]<class T>() {
      for (int64_t i = own.first; i < own.last; i += own.stride) {
        auto pack = load<N>(at<T>(x) + i);
        const auto gradients = load<N>(at<T>(dy) + i);
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

static_assert(kMostNeighbours == kTogether);

// Calls f.template operator()<N>(cut) with as many channels for a thread as it can move at once.
template <class C, class F>
void with_cut(const Shape& x, std::initializer_list<View> moved, const F& f) {
  const auto [rows, channels] = batch_norm_detail::rows_of(x);
  const auto packs = [width = channels](const View& view) { return in_packs(view, width); };
  if constexpr (kMovesPacks<C>)
    if (std::ranges::all_of(moved, packs))
      return f.template operator()<kTogether>(PackCut{rows, channels, kTogether});
  f.template operator()<1>(PackCut{rows, channels, 1});
}

template <bool kRelu>
void normalise(const Call& call) {
  const View &x = call.in[0], &y = call.out[0];
  const View& residual = call.in.size() > 3 ? call.in[3] : x;
  visit_floating_elements(x.dtype(), [&]<class C>() {
    const auto in = [&](size_t k) { return call.in[k].as<C>(); };
    const auto out = [&](size_t k) { return call.out[k].as<C>(); };
    with_cut<C>(x.shape(), {x, y, residual}, [&]<int N>(const PackCut& cut) {
      sum_packs<2, N>(
          cut, call.workspace.data(), AddDeviations<C, N>{elements<C>(x)},
          StoreStatistics<C>{elements<C>(x), out(1), out(2), out(3), out(4),
                             static_cast<double>(cut.rows), call.attrs.as<BatchNormAttrs>().eps});
      const auto added = call.in.size() > 3 ? elements<C>(residual) : Elements<C>{};
      for_packs<N>(cut, Normalise<C, N, kRelu>{elements<C>(x), elements<C>(y), added, in(1), in(2),
                                               out(1), out(3), out(4)});
    });
  });
}

// `in` begins with x, `out` with dx; `given` makes dy, which lies in `dy` afterwards.
template <class C, int N, class Dy>
void backward_on(const PackCut& cut, const Dy& given, const View& dy, std::span<const View> in,
                 std::span<const View> out, std::span<std::byte> workspace) {
  const auto of = [&](size_t k) { return in[k].as<C>(); };
  C *dgamma = out[1].as<C>(), *dbeta = out[2].as<C>();
  sum_packs<2, N>(cut, workspace.data(),
                  AddGradients<C, N, Dy>{given, elements<C>(in[0]), of(2), of(3), of(4)},
                  StoreGradients<C>{dgamma, dbeta});
  for_packs<N>(
      cut, Gradient<C, N>{elements<C>(dy), elements<C>(in[0]), elements<C>(out[0]), of(1), of(2),
                          of(3), of(4), dgamma, dbeta, C(1) / static_cast<C>(cut.rows)});
}

}  // namespace

void batch_norm_cuda(const Call& call) { normalise<false>(call); }
void batch_norm_relu_cuda(const Call& call) { normalise<true>(call); }

void batch_norm_grad_cuda(const Call& call) {
  const View &dy = call.in[0], &x = call.in[1];
  visit_floating_elements(x.dtype(), [&]<class C>() {
    with_cut<C>(x.shape(), {dy, x, call.out[0]}, [&]<int N>(const PackCut& cut) {
      backward_on<C, N>(cut, Given<C>{elements<C>(dy)}, dy, call.in.subspan(1), call.out,
                        call.workspace);
    });
  });
}

void batch_norm_relu_grad_cuda(const Call& call) {
  const View &dy = call.in[0], &y = call.in[1], &x = call.in[2];
  const View& more = call.in.size() > 7 ? call.in[7] : dy;
  const View& g = call.out[0];  // dx is made over it where nobody else wants it
  const auto out = call.out.size() > 3 ? call.out.subspan(1) : call.out;
  visit_floating_elements(x.dtype(), [&]<class C>() {
    const auto added = call.in.size() > 7 ? elements<C>(more) : Elements<C>{};
    const BehindRelu<C> given{elements<C>(dy), added, elements<C>(y), elements<C>(g)};
    with_cut<C>(x.shape(), {dy, y, x, more, g, out[0]}, [&]<int N>(const PackCut& cut) {
      backward_on<C, N>(cut, given, g, call.in.subspan(2), out, call.workspace);
    });
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
