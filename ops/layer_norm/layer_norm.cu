#include "core/op.h"
#include "ops/layer_norm/row.cuh"
#include "ops/row_norm_grad.cuh"

namespace plimsoll {
namespace {

using namespace cuda;
using layer_norm_detail::LayerNormAttrs;

template <class C>
__global__ void layer_norm_kernel(Elements<C> x, Elements<C> gamma, Elements<C> beta, Elements<C> y,
                                  double* means, C* inverses, int64_t n, bool packs, double eps) {
  const Row<C> from{x, blockIdx.x * n};
  const layer_norm_detail::RowStatistics<C> s(each_of(n, packs, from), n, eps);
  if (threadIdx.x == 0) {
    means[blockIdx.x] = s.mean;
    inverses[blockIdx.x] = s.inverse;
  }
  write_row(
      n, packs, Row<C>{y, blockIdx.x * n},
      [&](int64_t, C v, C scale, C shift) { return s.normal(v, scale, shift); }, from,
      Row<C>{gamma, 0}, Row<C>{beta, 0});
}

}  // namespace

void layer_norm_cuda(const Call& call) {
  const View &x = call.in[0], &y = call.out[0];
  const int64_t n = call.in[1].shape()[0], rows = count(call.out[1].shape());
  if (n == 0) {  // rows without elements: any statistics will do
    for (const View& statistics : call.out.subspan(1))
      check_cuda(cudaMemsetAsync(statistics.data, 0, static_cast<size_t>(bytes_of(statistics.meta)),
                                 stream()),
                 "cudaMemsetAsync");
    return;
  }
  const bool packs = in_packs(n, x, call.in[1], call.in[2], y);
  visit_floating_elements(x.dtype(), [&]<class C>() {
    launch(layer_norm_kernel<C>, rows, row_threads(n), elements<C>(x), elements<C>(call.in[1]),
           elements<C>(call.in[2]), elements<C>(y), call.out[1].as<double>(), call.out[2].as<C>(),
           n, packs, call.attrs.as<LayerNormAttrs>().eps);
  });
}

void layer_norm_grad_cuda(const Call& call) {
  row_norm_grad<true>({call.in[0], call.in[1], call.in[2], &call.in[3], call.in[4]}, call.out,
                      call.workspace);
}

}  // namespace plimsoll
