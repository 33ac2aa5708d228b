#include "core/engine/op.h"
#include "ops/common/online_softmax.cuh"

namespace plimsoll {
namespace {

using namespace cuda;

// A block for each row.
template <bool kLog, class C>
__global__ void softmax_kernel(Elements<C> x, Elements<C> y, int64_t n) {
  const int64_t start = blockIdx.x * n;
  const auto [highest, total] = online_softmax(x, start, n);
  const C scale = kLog ? std::log(total) : 1 / total;
  for (int64_t i = start + threadIdx.x; i < start + n; i += blockDim.x) {
    const C below = x.get(i) - highest;
    y.set(i, kLog ? below - scale : math::exp_of_negative(below) * scale);
  }
}

template <bool kLog, class C>
__global__ void softmax_grad_kernel(Elements<C> dy, Elements<C> y, Elements<C> dx, int64_t n) {
  const int64_t start = blockIdx.x * n, end = start + n;
  C total = 0;  // sum_i dy_i y_i, or sum_i dy_i
  for (int64_t i = start + threadIdx.x; i < end; i += blockDim.x)
    total = kLog ? total + dy.get(i) : std::fma(dy.get(i), y.get(i), total);
  total = over_block(total, Plus());
  for (int64_t i = start + threadIdx.x; i < end; i += blockDim.x) {
    const C g = dy.get(i), v = y.get(i);
    dx.set(i, kLog ? g - math::exp(v) * total : v * (g - total));
  }
}

template <bool kLog>
void run(const Call& call) {
  const int64_t n = call.out[0].shape().back(), rows = count(call.out[0].shape()) / n;
  visit_floating_elements(call.out[0].dtype(), [&]<class C>() {
    launch(softmax_kernel<kLog, C>, rows, row_threads(n), elements<C>(call.in[0]),
           elements<C>(call.out[0]), n);
  });
}

template <bool kLog>
void run_grad(const Call& call) {
  const int64_t n = call.out[0].shape().back(), rows = count(call.out[0].shape()) / n;
  visit_floating_elements(call.out[0].dtype(), [&]<class C>() {
    launch(softmax_grad_kernel<kLog, C>, rows, row_threads(n), elements<C>(call.in[0]),
           elements<C>(call.in[1]), elements<C>(call.out[0]), n);
  });
}

}  // namespace

void softmax_cuda(const Call& call) { run<false>(call); }
void softmax_grad_cuda(const Call& call) { run_grad<false>(call); }
void log_softmax_cuda(const Call& call) { run<true>(call); }
void log_softmax_grad_cuda(const Call& call) { run_grad<true>(call); }

}  // namespace plimsoll
