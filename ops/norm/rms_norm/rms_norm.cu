#include "core/engine/op.h"
#include "ops/norm/common/row_norm_grad.cuh"
#include "ops/norm/rms_norm/attrs.h"

namespace plimsoll {
namespace {

using namespace cuda;

template <class C>
__global__ void rms_norm_kernel(Elements<C> x, Elements<C> gamma, Elements<C> y, C* inverses,
                                int64_t n, double eps) {
  const int64_t start = blockIdx.x * n, end = start + n;
  const int64_t own = start + threadIdx.x * kPack, stride = blockDim.x * kPack;
  C squares = 0, values[kPack], scale[kPack];
  for (int64_t i = own; i < end; i += stride) {
    x.get(i, end, values);
    for (const C v : values) squares = std::fma(v, v, squares);
  }
  const double mean = static_cast<double>(over_block(squares, Plus())) / static_cast<double>(n);
  const C inverse = static_cast<C>(1 / std::sqrt(mean + eps));
  if (threadIdx.x == 0) inverses[blockIdx.x] = inverse;
  for (int64_t i = own; i < end; i += stride) {
    x.get(i, end, values);
    gamma.get(i - start, n, scale);
    for (int j = 0; j < kPack; ++j) values[j] = values[j] * inverse * scale[j];
    y.set(i, end, values);
  }
}

}  // namespace

void rms_norm_cuda(const Call& call) {
  const View &x = call.in[0], &gamma = call.in[1], &y = call.out[0], &inverses = call.out[1];
  const int64_t n = gamma.shape()[0], rows = count(inverses.shape());
  if (n == 0)  // rows without elements
    return check_cuda(
        cudaMemsetAsync(inverses.data, 0, static_cast<size_t>(bytes_of(inverses.meta)), stream()),
        "cudaMemsetAsync");
  visit_floating_elements(x.dtype(), [&]<class C>() {
    launch(rms_norm_kernel<C>, rows, norm_threads(n), elements<C>(x), elements<C>(gamma),
           elements<C>(y), inverses.as<C>(), n, call.attrs.as<RmsNormAttrs>().eps);
  });
}

void rms_norm_grad_cuda(const Call& call) {
  row_norm_grad<false>({call.in[0], call.in[1], call.in[2], nullptr, call.in[3]}, call.out,
                       call.workspace);
}

}  // namespace plimsoll
