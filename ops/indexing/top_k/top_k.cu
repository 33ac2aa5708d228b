#include "ops/common/reduce_axes.cuh"
#include "ops/indexing/top_k/attrs.h"

namespace plimsoll {
namespace cuda {
namespace {

template <class C>
struct Place {
  C value;
  int64_t at;  // -1: none
};

template <class C>
struct First {
  Order order;
  __device__ bool before(const Place<C>& a, const Place<C>& b) const {
    return comes_before(order, a.value, a.at, b.value, b.at);
  }
  __device__ void join(Place<C>& s, const Place<C>& other) const {
    if (other.at >= 0 && (s.at < 0 || before(other, s))) s = other;
  }
};

// x [outer, mid, inner] -> values and indices [outer, k, inner]. The threads of a column look k
// times for the first element behind the one that they found before.
template <class C>
__global__ void top_k_kernel(Elements<C> x, Elements<C> values, int64_t* indices, MiddleAxis a,
                             int64_t k, First<C> first, int across) {
  __shared__ Place<C> shared[kThreads];
  const int t = static_cast<int>(threadIdx.x), row = t / across, rows = kThreads / across;
  const int64_t i = static_cast<int64_t>(blockIdx.x) * across + t % across;
  const int64_t outer = i / a.inner, column = i % a.inner;
  const int64_t end = i < a.outer * a.inner ? a.mid : 0;
  Place<C> found{C(0), -1};
  for (int64_t n = 0; n < k; ++n) {
    Place<C> best{C(0), -1};
    for (int64_t m = row; m < end; m += rows) {
      const Place<C> here{x.get((outer * a.mid + m) * a.inner + column), m};
      if (found.at < 0 || first.before(found, here)) first.join(best, here);
    }
    join_rows(first, best, shared, row, rows, across);
    __syncthreads();
    found = shared[t % across];
    if (row == 0 && end > 0) {
      const int64_t to = (outer * k + n) * a.inner + column;
      values.set(to, found.value);
      indices[to] = found.at;
    }
  }
}

}  // namespace
}  // namespace cuda

void top_k_cuda(const Call& call) {
  const auto& [k, axis, order] = call.attrs.as<TopKAttrs>();
  const View& x = call.in[0];
  const MiddleAxis a = middle_axis(x.shape(), axis);
  const int across = cuda::neighbours_across(a.inner);
  cuda::visit_elements(x.dtype(), [&, k = k, order = order]<class C>() {
    cuda::launch(cuda::top_k_kernel<C>, pieces(a.outer * a.inner, across), cuda::kThreads,
                 cuda::elements<C>(x), cuda::elements<C>(call.out[0]), call.out[1].as<int64_t>(), a,
                 k, cuda::First<C>{order}, across);
  });
}

}  // namespace plimsoll
