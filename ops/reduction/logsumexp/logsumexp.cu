#include "ops/common/reduce_axes.cuh"
#include "ops/reduction/logsumexp/exponentials.h"

namespace plimsoll {
namespace cuda {
namespace {

// In one pass: a sum so far is scaled whenever a larger element comes.
template <class C>
struct SumOfExponentials {
  using State = Exponentials<C>;
  __device__ State start(int64_t, int64_t) const { return {kLowest<C>, 0}; }
  __device__ void take(State& s, C v, int64_t) const { join(s, {v, 1}); }
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
  explicit LogSumExp(Elements<C> to) : y(to) {}
  __device__ void finish(int64_t i, const Exponentials<C>& s) const { y.set(i, s.log()); }
};

template <class C>
struct LogSumExpGradient : SumOfExponentials<C> {
  Elements<C> dy;
  explicit LogSumExpGradient(Elements<C> from) : dy(from) {}
  __device__ Share<C> whole(int64_t i, const Exponentials<C>& s) const { return {dy.get(i), s}; }
  __device__ C each(const Share<C>& share, C v) const {
    return share.factor * math::exp(v - share.shift);
  }
};

}  // namespace
}  // namespace cuda

void logsumexp_cuda(const Call& call) {
  const MiddleAxis a = middle_axis(call.in[0].shape(), call.attrs.as<ReduceAttrs>());
  cuda::visit_floating_elements(call.out[0].dtype(), [&]<class C>() {
    cuda::reduce<C>(call, call.in[0], a, cuda::LogSumExp<C>(cuda::elements<C>(call.out[0])));
  });
}

void logsumexp_grad_cuda(const Call& call) {
  const MiddleAxis a = middle_axis(call.in[1].shape(), call.attrs.as<ReduceAttrs>());
  cuda::visit_floating_elements(call.out[0].dtype(), [&]<class C>() {
    const cuda::LogSumExpGradient<C> f(cuda::elements<C>(call.in[0]));
    cuda::reduce<C>(call, call.in[1], a, f, &call.out[0]);
  });
}

}  // namespace plimsoll
