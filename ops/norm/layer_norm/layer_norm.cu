#include "core/engine/op.h"
#include "ops/norm/common/row_norm_grad.cuh"
#include "ops/norm/layer_norm/attrs.h"

namespace plimsoll {
namespace {

using namespace cuda;
using layer_norm_detail::LayerNormAttrs, layer_norm_detail::Split;

// As on the CPU, the mean of the deviations from a first mean corrects it and the variance.
// Products are added by fma: left to the compiler, which of two products keeps its digits depends
// on how loops are unrolled.
template <class C>
__global__ void layer_norm_kernel(Elements<C> x, Elements<C> gamma, Elements<C> beta, Elements<C> y,
                                  double* means, C* inverses, int64_t n, double eps) {
  const int64_t start = blockIdx.x * n;
  const int64_t end = start + n, own = start + threadIdx.x * kPack, stride = blockDim.x * kPack;
  C sum = 0, first = 0, second = 0, values[kPack];
  for (int64_t i = own; i < end; i += stride) {
    x.get(i, end, values);
    for (const C value : values) sum += value;
  }
  const C about = over_block(sum, Plus()) / static_cast<C>(n);
  for (int64_t i = own; i < end; i += stride) {
    x.get(i, end, values);
    for (int j = 0; j < kPack; ++j) {
      const C d = i + j < end ? values[j] - about : C(0);
      first += d;
      second = std::fma(d, d, second);
    }
  }
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
  for (int64_t i = own; i < end; i += stride) {
    C scale[kPack], shift[kPack];
    x.get(i, end, values);
    gamma.get(i - start, n, scale);
    beta.get(i - start, n, shift);
    for (int j = 0; j < kPack; ++j)
      values[j] = (values[j] - split.high - split.rest) * inverse * scale[j] + shift[j];
    y.set(i, end, values);
  }
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
  visit_floating_elements(x.dtype(), [&]<class C>() {
    launch(layer_norm_kernel<C>, rows, norm_threads(n), elements<C>(x), elements<C>(call.in[1]),
           elements<C>(call.in[2]), elements<C>(y), call.out[1].as<double>(), call.out[2].as<C>(),
           n, call.attrs.as<LayerNormAttrs>().eps);
  });
}

void layer_norm_grad_cuda(const Call& call) {
  row_norm_grad<true>({call.in[0], call.in[1], call.in[2], &call.in[3], call.in[4]}, call.out,
                      call.workspace);
}

}  // namespace plimsoll
