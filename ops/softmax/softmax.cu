#include "core/op.h"
#include "ops/online_softmax.cuh"

namespace plimsoll {
namespace {

using namespace cuda;

template <bool kLog, class C>
__global__ void softmax_kernel(Elements<C> x, Elements<C> y, int64_t n, bool packs) {
  const int64_t at = blockIdx.x * n;
  const Row<C> from{x, at}, to{y, at};
  const auto [highest, total] = online_softmax(n, packs, from);
  const C scale = kLog ? std::log(total) : 1 / total;
  write_row(
      n, packs, to,
      [&, highest = highest](int64_t, C v) {
        return kLog ? v - highest - scale : math::exp_of_negative(v - highest) * scale;
      },
      from);
}

template <bool kLog, class C>
__global__ void softmax_grad_kernel(Elements<C> dy, Elements<C> y, Elements<C> dx, int64_t n,
                                    bool packs) {
  const int64_t at = blockIdx.x * n;
  const Row<C> gradient{dy, at}, result{y, at};
  C total = 0;  // sum_i dy_i y_i, or sum_i dy_i
  read_row(
      n, packs, [&](int64_t, C g, C v) { total = kLog ? total + g : std::fma(g, v, total); },
      gradient, result);
  total = over_block(total, Plus());
  write_row(
      n, packs, Row<C>{dx, at},
      [&](int64_t, C g, C v) { return kLog ? g - math::exp(v) * total : v * (g - total); },
      gradient, result);
}

template <bool kLog>
void run(const Call& call) {
  const int64_t n = call.out[0].shape().back(), rows = count(call.out[0].shape()) / n;
  const bool packs = in_packs(n, call.in[0], call.out[0]);
  visit_floating_elements(call.out[0].dtype(), [&]<class C>() {
    launch(softmax_kernel<kLog, C>, rows, row_threads(n), elements<C>(call.in[0]),
           elements<C>(call.out[0]), n, packs);
  });
}

template <bool kLog>
void run_grad(const Call& call) {
  const int64_t n = call.out[0].shape().back(), rows = count(call.out[0].shape()) / n;
  const bool packs = in_packs(n, call.in[0], call.in[1], call.out[0]);
  visit_floating_elements(call.out[0].dtype(), [&]<class C>() {
    launch(softmax_grad_kernel<kLog, C>, rows, row_threads(n), elements<C>(call.in[0]),
           elements<C>(call.in[1]), elements<C>(call.out[0]), n, packs);
  });
}

}  // namespace

void softmax_cuda(const Call& call) { run<false>(call); }
void softmax_grad_cuda(const Call& call) { run_grad<false>(call); }
void log_softmax_cuda(const Call& call) { run<true>(call); }
void log_softmax_grad_cuda(const Call& call) { run_grad<true>(call); }

}  // namespace plimsoll
