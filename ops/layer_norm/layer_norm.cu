#include "core/op.h"
#include "ops/layer_norm/attrs.h"
#include "ops/row_norm_grad.cuh"

namespace plimsoll {
namespace {

using namespace cuda;
using layer_norm_detail::LayerNormAttrs, layer_norm_detail::Split;

// As on the CPU, the mean of the deviations from a first mean corrects it and the variance. Products
// are added by fma: left to the compiler, which of two products keeps its digits depends on how
// loops are unrolled.
template <class C>
__global__ void layer_norm_kernel(Elements<C> x, Elements<C> gamma, Elements<C> beta, Elements<C> y,
                                  double* means, C* inverses, int64_t n, bool packs, double eps) {
  const Row<C> from{x, blockIdx.x * n};
  C sum = 0, first = 0, second = 0;
  read_row(
      n, packs, [&](int64_t, C v) { sum += v; }, from);
  const C about = over_block(sum, Plus()) / static_cast<C>(n);
  read_row(
      n, packs,
      [&](int64_t, C v) {
        const C d = v - about;
        first += d;
        second = std::fma(d, d, second);
      },
      from);
  const auto count = static_cast<double>(n);
  const double correction = static_cast<double>(over_block(first, Plus())) / count;
  const double variance =
      static_cast<double>(over_block(second, Plus())) / count - correction * correction;
  const double mean = static_cast<double>(about) + correction;
  const C inverse = static_cast<C>(1 / std::sqrt((variance < 0 ? 0 : variance) + eps));
  const Split<C> split(mean);
  if (threadIdx.x == 0) {
    means[blockIdx.x] = mean;
    inverses[blockIdx.x] = inverse;
  }
  write_row(
      n, packs, Row<C>{y, blockIdx.x * n},
      [&](int64_t, C v, C scale, C shift) {
        return (v - split.high - split.rest) * inverse * scale + shift;
      },
      from, Row<C>{gamma, 0}, Row<C>{beta, 0});
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
