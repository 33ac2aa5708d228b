#include "core/cuda/elements.cuh"
#include "core/cuda/launch.cuh"
#include "core/engine/op.h"
#include "ops/collective/sum_parts/tree.h"

namespace plimsoll {
namespace {

using namespace cuda;

// Element i of parts first ... first + parts - 1, which lie n apart.
template <class C>
__device__ C add_tree(const Elements<C>& x, int64_t n, int64_t i, int64_t first, int64_t parts) {
  if (parts == 1) return x.get(first * n + i);
  const int64_t left = sum_parts_detail::left_of(parts);
  return add_tree(x, n, i, first, left) + add_tree(x, n, i, first + left, parts - left);
}

template <class C>
__global__ void sum_parts_kernel(Elements<C> x, Elements<C> y, int64_t n, int64_t parts) {
  for (int64_t i = first_index(); i < n; i += total_threads())
    y.set(i, add_tree(x, n, i, 0, parts));
}

}  // namespace

void sum_parts_cuda(const Call& call) {
  const View &x = call.in[0], &y = call.out[0];
  const int64_t n = count(y.shape());
  visit_floating_elements(x.dtype(), [&]<class C>() {
    launch(sum_parts_kernel<C>, blocks_for(n), kThreads, elements<C>(x), elements<C>(y), n,
           x.shape()[0]);
  });
}

}  // namespace plimsoll
