#include "core/op.h"
#include "ops/rms_norm/attrs.h"
#include "ops/row_norm_grad.cuh"

namespace plimsoll {
namespace {

using namespace cuda;

template <class C>
__global__ void rms_norm_kernel(Elements<C> x, Elements<C> gamma, Elements<C> y, C* inverses,
                                int64_t n, bool packs, double eps) {
  const Row<C> from{x, blockIdx.x * n};
  C squares = 0;
  read_row(
      n, packs, [&](int64_t, C v) { squares = std::fma(v, v, squares); }, from);
  const double mean = static_cast<double>(over_block(squares, Plus())) / static_cast<double>(n);
  const C inverse = static_cast<C>(1 / std::sqrt(mean + eps));
  if (threadIdx.x == 0) inverses[blockIdx.x] = inverse;
  write_row(
      n, packs, Row<C>{y, blockIdx.x * n},
      [&](int64_t, C v, C scale) { return v * inverse * scale; }, from, Row<C>{gamma, 0});
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
    launch(rms_norm_kernel<C>, rows, row_threads(n), elements<C>(x), elements<C>(gamma),
           elements<C>(y), inverses.as<C>(), n, in_packs(n, x, gamma, y),
           call.attrs.as<RmsNormAttrs>().eps);
  });
}

void rms_norm_grad_cuda(const Call& call) {
  row_norm_grad<false>({call.in[0], call.in[1], call.in[2], nullptr, call.in[3]}, call.out,
                       call.workspace);
}

}  // namespace plimsoll
