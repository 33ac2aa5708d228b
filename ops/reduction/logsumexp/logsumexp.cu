#include "ops/common/reduce_axes.cuh"
#include "ops/reduction/logsumexp/exponentials.h"

namespace plimsoll {
namespace cuda {
namespace {

// In one pass: a sum so far is scaled whenever a larger element comes.
template <class C>
struct SumOfExponentials {
  using State = Exponentials<C>;
  Elements<C> x;
  __device__ State start(int64_t, int64_t) const { return {kLowest<C>, 0}; }
  __device__ void take(State& s, int64_t at, int64_t) const { join(s, {x.get(at), 1}); }
  __device__ void join(State& s, const State& other) const {
    if (other.largest > s.largest) {
      s = {other.largest, other.sum + s.sum * scale(s.largest, other.largest)};
    } else {
      s.sum += other.sum * scale(other.largest, s.largest);
    }
  }
  __device__ double scale(C from, C to) const {
    return static_cast<double>(math::exp(from - finite_or_zero(to)));
  }
};

template <class C>
struct LogSumExp : SumOfExponentials<C> {
  Elements<C> y;
  __device__ void finish(int64_t i, const Exponentials<C>& s) const { y.set(i, s.log()); }
};

template <class C>
struct LogSumExpGradient : SumOfExponentials<C> {
  using Line = Share<C>;
  Elements<C> dy, dx;
  __device__ Line whole(int64_t i, const Exponentials<C>& s) const { return {dy.get(i), s}; }
  __device__ void each(const Line& share, int64_t at) const {
    dx.set(at, share.factor * math::exp(this->x.get(at) - share.shift));
  }
};

}  // namespace
}  // namespace cuda

void logsumexp_cuda(const Call& call) {
  const MiddleAxis a = middle_axis(call.in[0].shape(), call.attrs.as<ReduceAttrs>());
  cuda::visit_floating_elements(call.out[0].dtype(), [&]<class C>() {
    const cuda::LogSumExp<C> f{{cuda::elements<C>(call.in[0])}, cuda::elements<C>(call.out[0])};
    cuda::reduce(a, f, call.workspace);
  });
}

void logsumexp_grad_cuda(const Call& call) {
  const MiddleAxis a = middle_axis(call.in[1].shape(), call.attrs.as<ReduceAttrs>());
  cuda::visit_floating_elements(call.out[0].dtype(), [&]<class C>() {
    const cuda::LogSumExpGradient<C> f{{cuda::elements<C>(call.in[1])},
                                       cuda::elements<C>(call.in[0]),
                                       cuda::elements<C>(call.out[0])};
    cuda::reduce_then_each(a, f, call.workspace);
  });
}

}  // namespace plimsoll
