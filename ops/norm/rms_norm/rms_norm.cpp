#include "ops/norm/rms_norm/rms_norm.h"

#include "core/cpu/reduce.h"
#include "core/cuda/seam/cuda_kernel.h"
#include "core/engine/apply.h"
#include "ops/common/broadcast.h"
#include "ops/common/reduce_axes.h"
#include "ops/norm/common/rows.h"
#include "ops/norm/rms_norm/attrs.h"
#include "ops/pointwise/copy/copy.h"

namespace plimsoll {

PLIMSOLL_CUDA_KERNEL(rms_norm_cuda);
PLIMSOLL_CUDA_KERNEL(rms_norm_grad_cuda);

namespace {

using namespace norm_detail;

// Inputs: x [..., D], gamma [D]. Outputs: y, and 1 / sqrt(mean(x^2) + eps) of each row.
Metas rms_norm_infer(std::span<const Meta> in, const Attrs& attrs) {
  const Shape& x = in[0].shape;
  check_floating("rms_norm", in[0]);
  const DType wide = compute_dtype(in[0].dtype);
  check<DTypeError>(in[1].dtype == wide, "rms_norm: gamma has the wrong type: got ", in[1].dtype,
                    " for ", in[0].dtype, " data. Give it in ", wide, ".");
  check<ShapeError>(x.rank() >= 1 && in[1].shape == Shape{x.back()},
                    "rms_norm: gamma does not fit: ", in[1].shape, " for x ", x,
                    ". Give it the size of the last axis.");
  check_eps("rms_norm", attrs.as<RmsNormAttrs>().eps);
  const Shape rows(std::span(x.begin(), static_cast<size_t>(x.rank() - 1)));
  return {in[0], {rows, wide, in[0].device}};
}

void rms_norm_cpu(const Call& call) {
  const int64_t n = call.in[1].shape()[0], rows = count(call.out[1].shape());
  const double eps = call.attrs.as<RmsNormAttrs>().eps;
  visit_floating("rms_norm", call.in[0].dtype(), [&]<class T>() {
    using C = Compute<T>;
    const T* x = call.in[0].as<T>();
    const C* gamma = call.in[1].as<C>();
    T* y = call.out[0].as<T>();
    C* inverses = call.out[1].as<C>();
    if (n == 0) return void(std::fill_n(inverses, rows, C(0)));
    parallel_for(rows, grain_for(2 * n), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const T* from = x + row * n;
        T* to = y + row * n;
        prefetch_next_row(from, n);
        const C squares = sum_of<C>(n, [&]<class V>(int64_t i) {
          const V v = load_as<V>(from + i);
          return v * v;
        });
        const double mean = static_cast<double>(squares) / static_cast<double>(n);
        const C inverse = static_cast<C>(1 / std::sqrt(mean + eps));
        inverses[row] = inverse;
#pragma omp simd
        for (int64_t i = 0; i < n; ++i)
          to[i] = narrow<T>(static_cast<C>(from[i]) * inverse * gamma[i]);
      }
    });
  });
}

// One row of the gradient; adds dy xhat to dgamma in double, as there may be many rows. With xhat =
// x inverse and g = dy gamma: dx = inverse (g - xhat mean(g xhat)).
template <class T, class C>
void grad_row(const T* dy, const T* x, const C* gamma, C inverse, int64_t n, T* dx,
              double* dgamma) {
  prefetch_next_row(dy, n);
  prefetch_next_row(x, n);
  C sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) {
    const C xhat = static_cast<C>(x[i]) * inverse, d = static_cast<C>(dy[i]);
    sum += d * gamma[i] * xhat;
    dgamma[i] += static_cast<double>(d * xhat);
  }
  const C mean = sum / static_cast<C>(n);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const C xhat = static_cast<C>(x[i]) * inverse, d = static_cast<C>(dy[i]);
    dx[i] = narrow<T>(inverse * (d * gamma[i] - xhat * mean));
  }
}

// Inputs: dy, x, gamma, inverses. Outputs: dx, dgamma.
Metas grad_infer(std::span<const Meta> in, const Attrs&) { return {in[1], in[2]}; }

int64_t grad_workspace(const Call& call) {
  const int64_t n = call.in[2].shape()[0], rows = count(call.in[3].shape());
  if (call.in[0].device() == Device::cuda) return cuda_reduce_bytes({1, rows, n});
  return pieces(rows, rows_per_piece(rows, n)) * n * static_cast<int64_t>(sizeof(double));
}

void grad_cpu(const Call& call) {
  const int64_t n = call.in[2].shape()[0], rows = count(call.in[3].shape());
  const int64_t step = rows_per_piece(rows, n), steps = pieces(rows, step);
  visit_floating("rms_norm_grad", call.in[0].dtype(), [&]<class T>() {
    using C = Compute<T>;
    const T *dy = call.in[0].as<T>(), *x = call.in[1].as<T>();
    const C *gamma = call.in[2].as<C>(), *inverses = call.in[3].as<C>();
    T* dx = call.out[0].as<T>();
    double* partial = reinterpret_cast<double*>(call.workspace.data());  // [steps, D]
    parallel_for(rows, step, [&](int64_t begin, int64_t end) {
      double* own = partial + begin / step * n;
      std::fill_n(own, n, 0.0);
      for (int64_t row = begin; row < end; ++row)
        grad_row(dy + row * n, x + row * n, gamma, inverses[row], n, dx + row * n, own);
    });
    add_pieces(partial, steps, n, n, call.out[1].as<C>());
  });
}

constexpr OpDef grad_op{.name = "rms_norm_grad",
                        .infer = grad_infer,
                        .cpu = grad_cpu,
                        .cuda = rms_norm_grad_cuda,
                        .inplace = 0,
                        .workspace = grad_workspace};

std::vector<Tensor> rms_norm_vjp(const Backward& b) {
  return apply(grad_op, {contiguous(b.grad()), b.input(0), b.input(1), b.output(1)});
}

constexpr OpDef rms_norm_op{.name = "rms_norm",
                            .infer = rms_norm_infer,
                            .cpu = rms_norm_cpu,
                            .cuda = rms_norm_cuda,
                            .vjp = {.rule = rms_norm_vjp, .inputs = bits(0, 1), .outputs = bits(1)},
                            .inplace = 0};

}  // namespace

Tensor rms_norm(const Tensor& x, const Tensor& gamma, double eps) {
  return apply(rms_norm_op, {contiguous(x), contiguous(gamma)}, RmsNormAttrs{eps})[0];
}

extern const std::vector<const OpDef*> rms_norm_ops{&rms_norm_op, &grad_op};

}  // namespace plimsoll
