#include "core/op.h"
#include "ops/accumulate/accumulate.h"
#include "ops/rows.cuh"

namespace plimsoll {
namespace {

using namespace cuda;

template <class C>
__global__ void accumulate_kernel(Elements<C> total, Elements<C> x, const double* weight,
                                  const double* weights, Accumulate options, int64_t n,
                                  bool packs) {
  const double all = (options.first ? 0 : *weights) + *weight;
  const bool counts = *weight != 0, adds = !options.first;
  const C w = static_cast<C>(*weight), divisor = static_cast<C>(options.last && all != 0 ? all : 1);
  const Row<C> sum{total, 0};
  write_all(
      n, packs, sum,
      [&](int64_t, C before, C v) {
        return ((adds ? before : C(0)) + (counts ? w * v : C(0))) / divisor;
      },
      sum, Row<C>{x, 0});
}

}  // namespace

void accumulate_cuda(const Call& call) {
  const View &total = call.in[0], &x = call.in[1];
  const int64_t n = count(total.shape());
  if (n == 0) return;
  visit_floating_elements(x.dtype(), [&]<class C>() {
    launch(accumulate_kernel<C>, blocks_for(n), kThreads, elements<C>(total), elements<C>(x),
           call.in[2].as<double>(), call.in[3].as<double>(), call.attrs.as<Accumulate>(), n,
           in_packs(n, total, x));
  });
}

}  // namespace plimsoll
