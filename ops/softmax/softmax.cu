#include <limits>

#include "core/math.h"
#include "core/op.h"
#include "ops/online_softmax.cuh"

namespace plimsoll {
namespace {

using namespace cuda;

template <bool kLog, class C>
__global__ void softmax_kernel(Elements<C> x, Elements<C> y, int64_t n, bool packs) {
  const int64_t at = blockIdx.x * n;
  const Row<C> from{x, at}, to{y, at};
  const auto [highest, total] = online_softmax(from, n, packs);
  const C m = highest, inverse = 1 / total, log_total = std::log(total);
  write_row(
      n, packs, to,
      [&](int64_t, C v) {
        return kLog ? v - m - log_total : math::exp_of_negative(v - m) * inverse;
      },
      from);
}

template <bool kLog, class C>
__global__ void softmax_grad_kernel(Elements<C> dy, Elements<C> y, Elements<C> dx, int64_t n,
                                    bool packs) {
  const int64_t at = blockIdx.x * n;
  const Row<C> gradient{dy, at}, result{y, at};
  C partial = 0;
  read_row(
      n, packs, [&](int64_t, C g, C v) { partial += kLog ? g : g * v; }, gradient, result);
  const C total = over_block(partial, Plus());
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
