#include "ops/common/reduce_axes.cuh"
#include "ops/reduction/cumsum/attrs.h"

namespace plimsoll {
namespace cuda {
namespace {

// x and y as [outer, mid, inner], summed along mid. A block takes `across` neighbouring columns and
// walks down mid, as many rows at a time as it has threads for each column.
template <class C, class Sum>
__global__ void cumsum_kernel(Elements<C> x, Elements<C> y, MiddleAxis a, int across,
                              bool exclusive, bool reverse) {
  __shared__ Sum sums[kThreads];
  const int t = static_cast<int>(threadIdx.x), row = t / across, rows = kThreads / across;
  const int64_t i = static_cast<int64_t>(blockIdx.x) * across + t % across;
  const bool used = i < a.outer * a.inner;
  const int64_t first = i / a.inner * a.mid * a.inner + i % a.inner;
  Sum carried = 0;
  for (int64_t start = 0; start < a.mid; start += rows) {
    const int64_t m = reverse ? a.mid - 1 - start - row : start + row;
    const bool inside = used && start + row < a.mid;
    const Sum own = inside ? static_cast<Sum>(x.get(first + m * a.inner)) : 0;
    Sum total = own;
    sums[t] = total;
    for (int distance = 1; distance < rows; distance *= 2) {  // Hillis and Steele
      __syncthreads();
      const Sum before = row >= distance ? sums[t - distance * across] : 0;
      __syncthreads();
      sums[t] = total += before;
    }
    __syncthreads();
    if (inside) {
      const Sum before = row > 0 ? sums[t - across] : 0;
      y.set(first + m * a.inner, static_cast<C>(carried + (exclusive ? before : total)));
    }
    carried += sums[(rows - 1) * across + t % across];
    __syncthreads();
  }
}

}  // namespace
}  // namespace cuda

void cumsum_cuda(const Call& call) {
  const auto& attrs = call.attrs.as<CumsumAttrs>();
  const View &x = call.in[0], &y = call.out[0];
  const MiddleAxis a = middle_axis(x.shape(), attrs.axis);
  const int across = cuda::neighbours_across(a.inner);
  cuda::visit_elements(x.dtype(), [&]<class C>() {
    using Sum = std::conditional_t<std::is_integral_v<C>, int64_t, double>;
    cuda::launch(cuda::cumsum_kernel<C, Sum>, pieces(a.outer * a.inner, across), cuda::kThreads,
                 cuda::elements<C>(x), cuda::elements<C>(y), a, across, attrs.exclusive,
                 attrs.reverse);
  });
}

}  // namespace plimsoll
