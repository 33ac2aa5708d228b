#include "core/op.h"
#include "ops/columns.cuh"
#include "ops/rms_norm/attrs.h"
#include "ops/rows.cuh"

namespace plimsoll {
namespace {

using namespace cuda;

template <class C>
__global__ void rms_norm_kernel(Elements<C> x, Elements<C> gamma, Elements<C> y, C* inverses,
                                int64_t n, bool packs, double eps) {
  const Row<C> from{x, blockIdx.x * n};
  C squares = 0;
  read_row(
      n, packs, [&](int64_t, C v) { squares += v * v; }, from);
  const double mean = static_cast<double>(over_block(squares, Plus())) / static_cast<double>(n);
  const C inverse = static_cast<C>(1 / std::sqrt(mean + eps));
  if (threadIdx.x == 0) inverses[blockIdx.x] = inverse;
  write_row(
      n, packs, Row<C>{y, blockIdx.x * n},
      [&](int64_t, C v, C scale) { return v * inverse * scale; }, from, Row<C>{gamma, 0});
}

template <class C>
__global__ void rms_norm_dx_kernel(Elements<C> dy, Elements<C> x, Elements<C> gamma,
                                   const C* inverses, Elements<C> dx, int64_t n, bool packs) {
  const int64_t at = blockIdx.x * n;
  const Row<C> gradient{dy, at}, from{x, at}, scale{gamma, 0};
  const C inverse = inverses[blockIdx.x];
  C sum = 0;
  read_row(
      n, packs, [&](int64_t, C d, C v, C s) { sum += d * s * (v * inverse); }, gradient, from,
      scale);
  const C mean = over_block(sum, Plus()) / static_cast<C>(n);
  write_row(
      n, packs, Row<C>{dx, at},
      [&](int64_t, C d, C v, C s) { return inverse * (d * s - v * inverse * mean); }, gradient,
      from, scale);
}

// The sum of dy xhat.
template <class C>
struct AddGamma {
  Elements<C> dy, x;
  const C* inverses;
  int64_t n;
  __device__ void operator()(int64_t row, int64_t column, double (&total)[1]) const {
    const int64_t i = row * n + column;
    total[0] += static_cast<double>(dy.get(i) * (x.get(i) * inverses[row]));
  }
};
template <class C>
struct StoreGamma {
  C* dgamma;
  __device__ void operator()(int64_t, int64_t column, const double (&total)[1]) const {
    dgamma[column] = static_cast<C>(total[0]);
  }
};

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
  const View &dy = call.in[0], &x = call.in[1], &gamma = call.in[2], &dx = call.out[0];
  const int64_t n = gamma.shape()[0], rows = count(call.in[3].shape());
  visit_floating_elements(x.dtype(), [&]<class C>() {
    const C* inverses = call.in[3].as<C>();
    // First, because dx may take the memory of dy.
    sum_columns<1>(ColumnCut(rows, n), call.workspace.data(),
                   AddGamma<C>{elements<C>(dy), elements<C>(x), inverses, n},
                   StoreGamma<C>{call.out[1].as<C>()});
    if (rows > 0)
      launch(rms_norm_dx_kernel<C>, rows, row_threads(n), elements<C>(dy), elements<C>(x),
             elements<C>(gamma), inverses, elements<C>(dx), n, in_packs(n, dy, x, gamma, dx));
  });
}

}  // namespace plimsoll
