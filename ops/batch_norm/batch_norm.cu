#include "core/cuda/elements.cuh"
#include "ops/arithmetic/formulas.h"
#include "ops/batch_norm/kernels.h"
#include "ops/columns.cuh"
#include "ops/relu/formulas.h"

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

// As an op leaves it in memory for the next one.
template <class C>
__device__ C rounded(const Elements<C>& memory, C value) {
  C result{};
  memory.visit([&]<class T>() { result = to_register<C>(to_memory<T>(value)); });
  return result;
}

// kRelu: y = relu(normalised + residual), where a residual without data is left out.
template <class C, bool kRelu>
struct Normalise {
  Elements<C> x, y, residual;
  const C *gamma, *beta, *mean, *inverse, *tail;
  int64_t channels;
  __device__ void operator()(int64_t, int64_t c, const Rows& rows) const {
    const C m = mean[c], rest = tail[c], inv = inverse[c], scale = gamma[c], shift = beta[c];
    for (int64_t row = rows.begin; row < rows.end; row += kRowLanes) {
      const int64_t i = row * channels + c;
      const C normal = (x.get(i) - m - rest) * inv;
      C value = normal * scale + shift;
      if constexpr (kRelu) {
        if (residual.data) value = formulas::Add::f(rounded(y, value), residual.get(i));
        value = formulas::Relu::f(rounded(y, value));
      }
      y.set(i, value);
    }
  }
};

// dy, as batch norm's own gradient gets it.
template <class C>
struct Given {
  Elements<C> dy;
  __device__ C operator()(int64_t i) const { return dy.get(i); }
};

// The same behind a relu whose output was y: dy, or dy + more, where y is positive; kept in g, which
// may be dy.
template <class C>
struct BehindRelu {
  Elements<C> dy, more, y, g;
  __device__ C operator()(int64_t i) const {
    C gradient = dy.get(i);
    if (more.data) gradient = rounded(dy, formulas::Add::f(gradient, more.get(i)));
    gradient = formulas::Relu::grad(gradient, y.get(i));
    g.set(i, gradient);
    return gradient;
  }
};

// The sums of dy and dy n.
template <class C, class Dy>
struct AddGradients {
  Dy dy;
  Elements<C> x;
  const C *mean, *inverse, *tail;
  int64_t channels;
  __device__ void operator()(int64_t row, int64_t c, double (&total)[2]) const {
    const int64_t i = row * channels + c;
    const C g = dy(i);
    const C normal = (x.get(i) - mean[c] - tail[c]) * inverse[c];
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

template <bool kRelu>
void normalise(const Call& call) {
  const View &x = call.in[0], &y = call.out[0];
  const ColumnCut cut = cut_of(x.shape());
  visit_floating_elements(x.dtype(), [&]<class C>() {
    const auto in = [&](size_t k) { return call.in[k].as<C>(); };
    const auto out = [&](size_t k) { return call.out[k].as<C>(); };
    sum_columns<2>(
        cut, call.workspace.data(), AddDeviations<C>{elements<C>(x), cut.columns},
        StoreStatistics<C>{elements<C>(x), out(1), out(2), out(3), out(4),
                           static_cast<double>(cut.rows), call.attrs.as<BatchNormAttrs>().eps});
    const auto residual = call.in.size() > 3 ? elements<C>(call.in[3]) : Elements<C>{};
    for_columns(cut, Normalise<C, kRelu>{elements<C>(x), elements<C>(y), residual, in(1), in(2),
                                         out(1), out(3), out(4), cut.columns});
  });
}

// `in` begins with x, `out` with dx; `given` makes dy, which lies in `dy` afterwards.
template <class C, class Dy>
void backward_on(const Dy& given, const View& dy, std::span<const View> in,
                 std::span<const View> out, std::span<std::byte> workspace) {
  const auto of = [&](size_t k) { return in[k].as<C>(); };
  const ColumnCut cut = cut_of(in[0].shape());
  C *dgamma = out[1].as<C>(), *dbeta = out[2].as<C>();
  sum_columns<2>(cut, workspace.data(),
                 AddGradients<C, Dy>{given, elements<C>(in[0]), of(2), of(3), of(4), cut.columns},
                 StoreGradients<C>{dgamma, dbeta});
  for_columns(
      cut, Gradient<C>{elements<C>(dy), elements<C>(in[0]), elements<C>(out[0]), of(1), of(2),
                       of(3), of(4), dgamma, dbeta, cut.columns, C(1) / static_cast<C>(cut.rows)});
}

}  // namespace

void batch_norm_cuda(const Call& call) { normalise<false>(call); }
void batch_norm_relu_cuda(const Call& call) { normalise<true>(call); }

void batch_norm_grad_cuda(const Call& call) {
  visit_floating_elements(call.in[0].dtype(), [&]<class C>() {
    backward_on<C>(Given<C>{elements<C>(call.in[0])}, call.in[0], call.in.subspan(1), call.out,
                   call.workspace);
  });
}

void batch_norm_relu_grad_cuda(const Call& call) {
  const View& g = call.out[0];  // dx is made over it where nobody else wants it
  visit_floating_elements(g.dtype(), [&]<class C>() {
    const auto more = call.in.size() > 7 ? elements<C>(call.in[7]) : Elements<C>{};
    backward_on<C>(
        BehindRelu<C>{elements<C>(call.in[0]), more, elements<C>(call.in[1]), elements<C>(g)}, g,
        call.in.subspan(2), call.out.size() > 3 ? call.out.subspan(1) : call.out, call.workspace);
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
