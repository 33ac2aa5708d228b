#include "ops/common/reduce_axes.cuh"

namespace plimsoll {
namespace cuda {
namespace {

// The product of all elements that are not 0, and how many are.
template <class C>
struct Products {
  struct State {
    double others;
    int64_t zeros;
  };
  Elements<C> x;
  __device__ State start(int64_t, int64_t) const { return {1, 0}; }
  __device__ void take(State& s, int64_t at, int64_t) const {
    const C v = x.get(at);
    s.others *= v == 0 ? 1 : static_cast<double>(v);
    s.zeros += v == 0;
  }
  __device__ void join(State& s, const State& other) const {
    s.others *= other.others;
    s.zeros += other.zeros;
  }
};

template <class C>
struct Product : Products<C> {
  Elements<C> y;
  __device__ void finish(int64_t i, const typename Products<C>::State& s) const {
    // infinity times 0 is NaN, whatever their order
    y.set(i, static_cast<C>(s.zeros > 0 ? s.others * 0 : s.others));
  }
};

template <class C>
struct ProductGradient : Products<C> {
  Elements<C> dy, dx;
  struct Line {
    double without_zeros, one_zero;  // what is left of an element, and of a 0
  };
  __device__ Line whole(int64_t i, const typename Products<C>::State& s) const {
    const double product = static_cast<double>(dy.get(i)) * s.others;
    return {s.zeros == 0 ? product : 0, s.zeros == 1 ? product : 0};
  }
  __device__ void each(const Line& line, int64_t at) const {
    const auto v = static_cast<double>(this->x.get(at));
    dx.set(at, static_cast<C>(v == 0 ? line.one_zero : line.without_zeros / v));
  }
};

}  // namespace
}  // namespace cuda

void prod_cuda(const Call& call) {
  const MiddleAxis a = middle_axis(call.in[0].shape(), call.attrs.as<ReduceAttrs>());
  cuda::visit_floating_elements(call.out[0].dtype(), [&]<class C>() {
    const cuda::Product<C> f{{cuda::elements<C>(call.in[0])}, cuda::elements<C>(call.out[0])};
    cuda::reduce(a, f, call.workspace);
  });
}

void prod_grad_cuda(const Call& call) {
  const MiddleAxis a = middle_axis(call.in[1].shape(), call.attrs.as<ReduceAttrs>());
  cuda::visit_floating_elements(call.out[0].dtype(), [&]<class C>() {
    const cuda::ProductGradient<C> f{{cuda::elements<C>(call.in[1])},
                                     cuda::elements<C>(call.in[0]),
                                     cuda::elements<C>(call.out[0])};
    cuda::reduce_then_each(a, f, call.workspace);
  });
}

}  // namespace plimsoll
