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
  __device__ State start(int64_t, int64_t) const { return {1, 0}; }
  __device__ void take(State& s, C v, int64_t) const {
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
  explicit Product(Elements<C> to) : y(to) {}
  __device__ void finish(int64_t i, const typename Products<C>::State& s) const {
    // infinity times 0 is NaN, whatever their order
    y.set(i, static_cast<C>(s.zeros > 0 ? s.others * 0 : s.others));
  }
};

template <class C>
struct ProductGradient : Products<C> {
  Elements<C> dy;
  explicit ProductGradient(Elements<C> from) : dy(from) {}
  struct Line {
    double without_zeros, one_zero;  // what is left of an element, and of a 0
  };
  __device__ Line whole(int64_t i, const typename Products<C>::State& s) const {
    const double product = static_cast<double>(dy.get(i)) * s.others;
    return {s.zeros == 0 ? product : 0, s.zeros == 1 ? product : 0};
  }
  __device__ C each(const Line& line, C v) const {
    return static_cast<C>(v == 0 ? line.one_zero : line.without_zeros / static_cast<double>(v));
  }
};

}  // namespace
}  // namespace cuda

void prod_cuda(const Call& call) {
  const MiddleAxis a = middle_axis(call.in[0].shape(), call.attrs.as<ReduceAttrs>());
  cuda::visit_floating_elements(call.out[0].dtype(), [&]<class C>() {
    cuda::reduce<C>(call, call.in[0], a, cuda::Product<C>(cuda::elements<C>(call.out[0])));
  });
}

void prod_grad_cuda(const Call& call) {
  const MiddleAxis a = middle_axis(call.in[1].shape(), call.attrs.as<ReduceAttrs>());
  cuda::visit_floating_elements(call.out[0].dtype(), [&]<class C>() {
    const cuda::ProductGradient<C> f(cuda::elements<C>(call.in[0]));
    cuda::reduce<C>(call, call.in[1], a, f, &call.out[0]);
  });
}

}  // namespace plimsoll
