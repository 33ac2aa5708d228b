#include "ops/common/reduce_axes.cuh"

namespace plimsoll {
namespace cuda {
namespace {

// In f64 throughout: additions are fewer than a GPU could do while it waits for memory.
template <class C>
struct Sum {
  using State = std::conditional_t<std::is_integral_v<C>, int64_t, double>;
  Elements<C> x, y;
  State divisor;
  __device__ State start(int64_t, int64_t) const { return 0; }
  __device__ void take(State& s, int64_t at, int64_t) const { s += static_cast<State>(x.get(at)); }
  __device__ void take_pack(State (&s)[kPack], int64_t, int64_t at, int64_t) const {
    C values[kPack];
    x.get(at, at + kPack, values);
    for (int j = 0; j < kPack; ++j) s[j] += static_cast<State>(values[j]);
  }
  __device__ void join(State& s, State other) const { s += other; }
  __device__ void finish(int64_t i, State s) const { y.set(i, static_cast<C>(s / divisor)); }
};

template <class C>
void sum_over(const Call& call, int64_t divisor) {
  const MiddleAxis a = middle_axis(call.in[0].shape(), call.attrs.as<ReduceAttrs>());
  const Sum<C> sum{elements<C>(call.in[0]), elements<C>(call.out[0]),
                   static_cast<typename Sum<C>::State>(divisor)};
  reduce(a, sum, call.workspace);
}

}  // namespace
}  // namespace cuda

void sum_cuda(const Call& call) {
  cuda::visit_floating_elements(call.out[0].dtype(),
                                [&]<class C>() { cuda::sum_over<C>(call, 1); });
}

void mean_cuda(const Call& call) {
  const int64_t n = middle_axis(call.in[0].shape(), call.attrs.as<ReduceAttrs>()).mid;
  cuda::visit_floating_elements(call.out[0].dtype(),
                                [&]<class C>() { cuda::sum_over<C>(call, n); });
}

void sum_integers_cuda(const Call& call) { cuda::sum_over<int64_t>(call, 1); }

}  // namespace plimsoll
