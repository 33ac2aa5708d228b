#include "ops/norm/layer_norm/layer_norm.h"

#include "core/cpu/reduce.h"
#include "core/cuda/seam/cuda_kernel.h"
#include "core/engine/apply.h"
#include "ops/common/broadcast.h"
#include "ops/common/reduce_axes.h"
#include "ops/norm/common/rows.h"
#include "ops/norm/layer_norm/attrs.h"
#include "ops/pointwise/copy/copy.h"

namespace plimsoll {

PLIMSOLL_CUDA_KERNEL(layer_norm_cuda);
PLIMSOLL_CUDA_KERNEL(layer_norm_grad_cuda);

namespace {

using namespace layer_norm_detail;
using namespace norm_detail;

// Inputs: x [..., D], gamma [D], beta [D]. Outputs: y, and one mean and one inverse deviation a
// row.
Metas layer_norm_infer(std::span<const Meta> in, const Attrs& attrs) {
  const Shape& x = in[0].shape;
  check_floating("layer_norm", in[0]);
  const DType wide = compute_dtype(in[0].dtype);
  check_gain_types("layer_norm", in);
  check<ShapeError>(x.rank() >= 1 && in[1].shape == Shape{x.back()} && in[2].shape == in[1].shape,
                    "layer_norm: gamma and beta do not fit: ", in[1].shape, " and ", in[2].shape,
                    " for x ", x, ". Give both the size of the last axis.");
  check_eps("layer_norm", attrs.as<LayerNormAttrs>().eps);
  const Shape rows(std::span(x.begin(), static_cast<size_t>(x.rank() - 1)));
  return {in[0], {rows, DType::f64, in[0].device}, {rows, wide, in[0].device}};
}

template <class T>
double mean_of(const T* x, int64_t n) {
  using C = Compute<T>;
  const C total = sum_of<C>(n, [&]<class V>(int64_t i) { return load_as<V>(x + i); });
  return static_cast<double>(total) / static_cast<double>(n);
}

template <class C>
struct RowStatistics {
  double mean;
  C inverse;  // 1 / sqrt(variance + eps)
};

// The first mean may carry the rounding of a long sum; the mean of the deviations from it corrects
// it and the variance.
template <class T>
RowStatistics<Compute<T>> statistics(const T* x, int64_t n, double eps) {
  using C = Compute<T>;
  const C about = static_cast<C>(mean_of(x, n));
  const auto [first, second] = sums_of<C, 2>(n, [&]<class V>(int64_t i) {
    const V d = load_as<V>(x + i) - about;
    return std::array<V, 2>{d, d * d};
  });
  const double correction = static_cast<double>(first) / static_cast<double>(n);
  const double variance = static_cast<double>(second) / static_cast<double>(n);
  const double centred = std::max(0.0, variance - correction * correction);
  return {about + correction, static_cast<C>(1 / std::sqrt(centred + eps))};
}

// One row of the gradient. With xhat = (x - mean) * inverse and g = dy * gamma: dx = inverse *
// (g - mean(g) - xhat * mean(g * xhat)).
template <class T, class C>
void backward_row(const T* dy, const T* x, const C* gamma, Split<C> mean, C inverse, int64_t n,
                  T* dx) {
  const auto [sum_g, sum_gx] = sums_of<C, 2>(n, [&]<class V>(int64_t i) {
    const V xhat = (load_as<V>(x + i) - mean.high - mean.rest) * inverse;
    const V g = load_as<V>(dy + i) * load_as<V>(gamma + i);
    return std::array<V, 2>{g, g * xhat};
  });
  const C mean_g = sum_g / static_cast<C>(n), mean_gx = sum_gx / static_cast<C>(n);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const C xhat = (static_cast<C>(x[i]) - mean.high - mean.rest) * inverse;
    const C g = static_cast<C>(dy[i]) * gamma[i];
    dx[i] = narrow<T>(inverse * (g - mean_g - xhat * mean_gx));
  }
}

constexpr int64_t kGroup = 8;  // rows that are still near when they are read once more

// Adds dy * xhat of some rows to dgamma and dy to dbeta, in double: there may be many rows.
template <class T, class C>
void add_columns(const T* dy, const T* x, const double* means, const C* inverses, int64_t rows,
                 int64_t n, double* dgamma, double* dbeta) {
  by_columns<double>(n, [=]<class V, int W>(int64_t c) {
    V weighted[W], sum[W];
    for (int w = 0; w < W; ++w) {
      weighted[w] = load_column<V>(dgamma + c, w);
      sum[w] = load_column<V>(dbeta + c, w);
    }
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t at = row * n + c;
      prefetch(dy + at, kGroup * n, W * kLanesOf<V>);
      prefetch(x + at, kGroup * n, W * kLanesOf<V>);
#pragma GCC unroll 4
      for (int w = 0; w < W; ++w) {
        const V d = load_column<V>(dy + at, w);
        const V centred = load_column<V>(x + at, w) - means[row];
        weighted[w] += d * (centred * static_cast<double>(inverses[row]));
        sum[w] += d;
      }
    }
    for (int w = 0; w < W; ++w) {
      store_column(dgamma + c, w, weighted[w]);
      store_column(dbeta + c, w, sum[w]);
    }
  });
}

// y may lie in x's memory.
void layer_norm_cpu(const Call& call) {
  const double eps = call.attrs.as<LayerNormAttrs>().eps;
  const int64_t n = call.in[1].shape()[0];
  visit_floating("layer_norm", call.in[0].dtype(), [&]<class T>() {
    using C = Compute<T>;
    const T* x = call.in[0].as<T>();
    const C *gamma = call.in[1].as<C>(), *beta = call.in[2].as<C>();
    T* y = call.out[0].as<T>();
    double* means = call.out[1].as<double>();
    C* inverses = call.out[2].as<C>();
    if (n == 0) {  // rows without elements: any statistics will do
      std::fill_n(means, count(call.out[1].shape()), 0.0);
      std::fill_n(inverses, count(call.out[2].shape()), C(0));
    }
    parallel_for(
        n == 0 ? 0 : count(call.out[1].shape()), grain_for(2 * n), [&](int64_t begin, int64_t end) {
          for (int64_t row = begin; row < end; ++row) {
            const T* from = x + row * n;
            T* to = y + row * n;
            prefetch_next_row(from, n);
            const RowStatistics<C> stats = statistics(from, n, eps);
            means[row] = stats.mean;
            inverses[row] = stats.inverse;
            const Split<C> m(stats.mean);
#pragma omp simd
            for (int64_t i = 0; i < n; ++i)
              to[i] = narrow<T>(
                  (static_cast<C>(from[i]) - m.high - m.rest) * stats.inverse * gamma[i] + beta[i]);
          }
        });
  });
}

// Inputs: dy, x, gamma, mean, inverse deviation. Outputs: dx, dgamma, dbeta.
Metas grad_infer(std::span<const Meta> in, const Attrs&) { return {in[1], in[2], in[2]}; }

// dx may lie in dy's memory.
void grad_cpu(const Call& call) {
  const int64_t n = call.in[2].shape()[0];
  const int64_t rows = count(call.in[3].shape());
  const int64_t step = rows_per_piece(rows, n), steps = pieces(rows, step);
  visit_floating("layer_norm_grad", call.in[0].dtype(), [&]<class T>() {
    using C = Compute<T>;
    const T *dy = call.in[0].as<T>(), *x = call.in[1].as<T>();
    const C *gamma = call.in[2].as<C>(), *inverses = call.in[4].as<C>();
    const double* means = call.in[3].as<double>();
    T* dx = call.out[0].as<T>();
    double* partial =
        reinterpret_cast<double*>(call.workspace.data());  // [steps, {dgamma, dbeta}, D]
    parallel_for(rows, step, [&](int64_t begin, int64_t end) {
      double* dgamma = partial + begin / step * 2 * n;
      std::fill_n(dgamma, 2 * n, 0.0);
      for (int64_t first = begin; first < end; first += kGroup) {
        const int64_t last = std::min(end, first + kGroup);
        add_columns(dy + first * n, x + first * n, means + first, inverses + first, last - first, n,
                    dgamma, dgamma + n);
        for (int64_t row = first; row < last; ++row)  // now: dx may lie on dy
          backward_row(dy + row * n, x + row * n, gamma, Split<C>(means[row]), inverses[row], n,
                       dx + row * n);
      }
    });
    add_pieces(partial, steps, 2 * n, n, call.out[1].as<C>());
    add_pieces(partial + n, steps, 2 * n, n, call.out[2].as<C>());
  });
}

int64_t grad_workspace(const Call& call) {
  const int64_t n = call.in[2].shape()[0], rows = count(call.in[3].shape());
  if (call.in[0].device() == Device::cuda) return cuda_reduce_bytes({1, rows, n});
  return pieces(rows, rows_per_piece(rows, n)) * 2 * n * static_cast<int64_t>(sizeof(double));
}

constexpr OpDef grad_op{.name = "layer_norm_grad",
                        .infer = grad_infer,
                        .cpu = grad_cpu,
                        .cuda = layer_norm_grad_cuda,
                        .inplace = 0,
                        .workspace = grad_workspace};

std::vector<Tensor> layer_norm_vjp(const Backward& b) {
  return apply(grad_op, {contiguous(b.grad()), b.input(0), b.input(1), b.output(1), b.output(2)});
}

constexpr OpDef layer_norm_op{
    .name = "layer_norm",
    .infer = layer_norm_infer,
    .cpu = layer_norm_cpu,
    .cuda = layer_norm_cuda,
    .vjp = {.rule = layer_norm_vjp, .inputs = bits(0, 1), .outputs = bits(1, 2)},
    .inplace = 0};

}  // namespace

Tensor layer_norm(const Tensor& x, const Tensor& gamma, const Tensor& beta, double eps) {
  return apply(layer_norm_op, {contiguous(x), contiguous(gamma), contiguous(beta)},
               LayerNormAttrs{eps})[0];
}

extern const std::vector<const OpDef*> layer_norm_ops{&layer_norm_op, &grad_op};

}  // namespace plimsoll
