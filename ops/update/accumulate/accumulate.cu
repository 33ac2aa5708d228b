#include "ops/update/accumulate/accumulate.h"

#include "core/cuda/elements.cuh"
#include "core/cuda/launch.cuh"
#include "core/engine/op.h"

namespace plimsoll {
namespace {

using namespace cuda;

template <class C>
__global__ void accumulate_kernel(Elements<C> total, Elements<C> x, int64_t n, const double* weight,
                                  const double* weights, Accumulate options) {
  const double all = (options.first ? 0 : *weights) + *weight;
  const bool counts = *weight != 0, adds = !options.first;
  const C w = static_cast<C>(*weight), divisor = static_cast<C>(options.last && all != 0 ? all : 1);
  for (int64_t i = first_index() * kPack; i < n; i += total_threads() * kPack) {
    C sum[kPack] = {}, own[kPack] = {};
    if (adds) total.get(i, n, sum);
    if (counts) x.get(i, n, own);
    for (int j = 0; j < kPack; ++j) sum[j] = (sum[j] + (counts ? w * own[j] : C(0))) / divisor;
    total.set(i, n, sum);
  }
}

}  // namespace

// Inputs: total, x, weight, weights.
void accumulate_cuda(const Call& call) {
  const View& total = call.in[0];
  const int64_t n = count(total.shape());
  visit_floating_elements(total.dtype(), [&]<class C>() {
    launch(accumulate_kernel<C>, blocks_for(packs_in(n)), kThreads, elements<C>(total),
           elements<C>(call.in[1]), n, call.in[2].as<double>(), call.in[3].as<double>(),
           call.attrs.as<Accumulate>());
  });
}

}  // namespace plimsoll
