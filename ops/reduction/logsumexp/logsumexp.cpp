#include "ops/reduction/logsumexp/logsumexp.h"

#include <array>

#include "core/cpu/reduce.h"
#include "core/cuda/seam/cuda_kernel.h"
#include "ops/common/broadcast.h"
#include "ops/common/expect.h"
#include "ops/common/reduce_axes.h"
#include "ops/pointwise/copy/copy.h"
#include "ops/reduction/logsumexp/exponentials.h"

namespace plimsoll {

PLIMSOLL_CUDA_KERNEL(logsumexp_cuda);
PLIMSOLL_CUDA_KERNEL(logsumexp_grad_cuda);

namespace {

// Kernels see x [outer, mid, inner] -> y [outer, inner] (ops/common/reduce_axes.h).

template <class T, class C = Compute<T>>
Exponentials<C> of_row(const T* x, int64_t n) {
  const C m = max_of<C>(n, [&]<class V>(int64_t i) { return load_as<V>(x + i); });
  const C shift = finite_or_zero(m);
  double sum = 0;
  for (int64_t begin = 0; begin < n; begin += 1024) {
    const int64_t end = std::min(n, begin + 1024);
    C block = 0;
#pragma omp simd reduction(+ : block)
    for (int64_t i = begin; i < end; ++i) block += math::exp(static_cast<C>(x[i]) - shift);
    sum += block;
  }
  return {m, sum};
}

// Down n <= kReducedColumns columns of x.
template <class T, class C = Compute<T>>
std::array<Exponentials<C>, kReducedColumns> of_columns(const T* x, const MiddleAxis& a,
                                                        int64_t n) {
  std::array<Exponentials<C>, kReducedColumns> result;
  const int64_t rows = a.mid, stride = a.inner;
  if (stride == 1) {
    result[0] = of_row(x, rows);
    return result;
  }
  C m[kReducedColumns];
  double sum[kReducedColumns] = {};
  std::fill_n(m, kReducedColumns, kLowest<C>);
  for (int64_t row = 0; row < rows; ++row) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) {
      const C v = static_cast<C>(x[row * stride + i]);
      m[i] = v > m[i] ? v : m[i];
    }
  }
  C shift[kReducedColumns];
  for (int64_t i = 0; i < n; ++i) shift[i] = finite_or_zero(m[i]);
  for (int64_t row = 0; row < rows; ++row) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i)
      sum[i] += static_cast<double>(math::exp(static_cast<C>(x[row * stride + i]) - shift[i]));
  }
  for (int64_t i = 0; i < n; ++i) result[static_cast<size_t>(i)] = {m[i], sum[i]};
  return result;
}

void logsumexp_cpu(const Call& call) {
  const MiddleAxis a = middle_axis(call.in[0].shape(), call.attrs.as<ReduceAttrs>());
  visit_floating("logsumexp", call.in[0].dtype(), [&]<class T>() {
    const T* x = call.in[0].as<T>();
    T* y = call.out[0].as<T>();
    for_each_columns(a, [&](int64_t first, int64_t n, int64_t at) {
      const auto columns = of_columns(x + first, a, n);
      for (int64_t i = 0; i < n; ++i)
        y[at + i] = static_cast<T>(columns[static_cast<size_t>(i)].log());
    });
  });
}

void grad_cpu(const Call& call) {
  const MiddleAxis a = middle_axis(call.in[1].shape(), call.attrs.as<ReduceAttrs>());
  visit_floating("logsumexp", call.out[0].dtype(), [&]<class T>() {
    using C = Compute<T>;
    const T *dy = call.in[0].as<T>(), *x = call.in[1].as<T>();
    T* dx = call.out[0].as<T>();
    for_each_columns(a, [&](int64_t first, int64_t n, int64_t at) {
      const auto columns = of_columns(x + first, a, n);
      C shift[kReducedColumns], factor[kReducedColumns];
      for (int64_t i = 0; i < n; ++i) {
        const Share<C> share(static_cast<C>(dy[at + i]), columns[static_cast<size_t>(i)]);
        shift[i] = share.shift, factor[i] = share.factor;
      }
      map_columns(x + first, a, n, dx + first,
                  [&](C v, int64_t i) { return factor[i] * math::exp(v - shift[i]); });
    });
  });
}

constexpr OpDef grad_op{.name = "logsumexp_grad",
                        .infer = reduce_grad_infer,
                        .cpu = grad_cpu,
                        .cuda = logsumexp_grad_cuda,
                        .inplace = 1,
                        .workspace = reduce_grad_workspace};

std::vector<Tensor> logsumexp_vjp(const Backward& b) {
  return {apply1(grad_op, {contiguous(b.grad()), b.input(0)}, b.attrs<ReduceAttrs>())};
}

constexpr OpDef logsumexp_op{.name = "logsumexp",
                             .infer = reduce_infer,
                             .cpu = logsumexp_cpu,
                             .cuda = logsumexp_cuda,
                             .vjp = {.rule = logsumexp_vjp, .inputs = bits(0)},
                             .workspace = reduce_workspace,
                             .cast = CastRule::full};

}  // namespace

Tensor logsumexp(const Tensor& x, const Shape& axes, Keep keep) {
  check_defined("logsumexp", x);
  return reduce_axes(logsumexp_op, x, axes, keep);
}

extern const std::vector<const OpDef*> logsumexp_ops{&logsumexp_op, &grad_op};

}  // namespace plimsoll
