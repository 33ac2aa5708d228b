#include "ops/columns.cuh"
#include "ops/layer_norm/kernels.h"
#include "ops/rows.cuh"

namespace plimsoll {
namespace {

using namespace cuda;
using layer_norm_detail::LayerNormAttrs, layer_norm_detail::Split;

// As on the CPU, the mean of the deviations from a first mean corrects it and the variance.
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
        second += d * d;
      },
      from);
  const auto count = static_cast<double>(n);
  const double correction = static_cast<double>(over_block(first, Plus())) / count;
  const double variance =
      static_cast<double>(over_block(second, Plus())) / count - correction * correction;
  const double mean = static_cast<double>(about) + correction;
  const C inverse = static_cast<C>(1 / std::sqrt((variance < 0 ? 0 : variance) + eps));
  if (threadIdx.x == 0) {
    means[blockIdx.x] = mean;
    inverses[blockIdx.x] = inverse;
  }
  const Split<C> m(mean);
  write_row(
      n, packs, Row<C>{y, blockIdx.x * n},
      [&](int64_t, C v, C scale, C shift) {
        return (v - m.high - m.rest) * inverse * scale + shift;
      },
      from, Row<C>{gamma, 0}, Row<C>{beta, 0});
}

template <class C>
__global__ void layer_norm_dx_kernel(Elements<C> dy, Elements<C> x, Elements<C> gamma,
                                     const double* means, const C* inverses, Elements<C> dx,
                                     int64_t n, bool packs) {
  const int64_t at = blockIdx.x * n;
  const Row<C> gradient{dy, at}, from{x, at}, scale{gamma, 0};
  const Split<C> mean(means[blockIdx.x]);
  const C inverse = inverses[blockIdx.x];
  C sum_g = 0, sum_gx = 0;
  read_row(
      n, packs,
      [&](int64_t, C d, C v, C s) {
        const C g = d * s;
        sum_g += g;
        sum_gx += g * ((v - mean.high - mean.rest) * inverse);
      },
      gradient, from, scale);
  const C mean_g = over_block(sum_g, Plus()) / static_cast<C>(n);
  const C mean_gx = over_block(sum_gx, Plus()) / static_cast<C>(n);
  write_row(
      n, packs, Row<C>{dx, at},
      [&](int64_t, C d, C v, C s) {
        const C xhat = (v - mean.high - mean.rest) * inverse;
        return inverse * (d * s - mean_g - xhat * mean_gx);
      },
      gradient, from, scale);
}

// The sums of dy xhat and dy.
template <class C>
struct AddParameters {
  Elements<C> dy, x;
  const double* means;
  const C* inverses;
  int64_t n;
  __device__ void operator()(int64_t row, int64_t column, double (&total)[2]) const {
    const Split<C> mean(means[row]);
    const C d = dy.get(row * n + column);
    const C xhat = (x.get(row * n + column) - mean.high - mean.rest) * inverses[row];
    total[0] += static_cast<double>(d * xhat);
    total[1] += static_cast<double>(d);
  }
};
template <class C>
struct StoreParameters {
  C *dgamma, *dbeta;
  __device__ void operator()(int64_t, int64_t column, const double (&total)[2]) const {
    dgamma[column] = static_cast<C>(total[0]);
    dbeta[column] = static_cast<C>(total[1]);
  }
};

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
  const View &dy = call.in[0], &x = call.in[1], &gamma = call.in[2], &dx = call.out[0];
  const int64_t n = gamma.shape()[0], rows = count(call.in[3].shape());
  const double* means = call.in[3].as<double>();
  visit_floating_elements(x.dtype(), [&]<class C>() {
    const C* inverses = call.in[4].as<C>();
    // First, because dx may take the memory of dy.
    sum_columns<2>(ColumnCut(rows, n), call.workspace.data(),
                   AddParameters<C>{elements<C>(dy), elements<C>(x), means, inverses, n},
                   StoreParameters<C>{call.out[1].as<C>(), call.out[2].as<C>()});
    if (rows > 0)
      launch(layer_norm_dx_kernel<C>, rows, row_threads(n), elements<C>(dy), elements<C>(x),
             elements<C>(gamma), means, inverses, elements<C>(dx), n,
             in_packs(n, dy, x, gamma, dx));
  });
}

}  // namespace plimsoll
