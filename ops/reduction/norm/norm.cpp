#include "ops/reduction/norm/norm.h"

#include "core/cuda/seam/cuda_kernel.h"
#include "ops/common/expect.h"
#include "ops/common/reduce_axes.h"
#include "ops/pointwise/copy/copy.h"
#include "ops/pointwise/math/math.h"
#include "ops/reduction/amax/amax.h"
#include "ops/reduction/norm/formulas.h"

namespace plimsoll {

using namespace formulas;

PLIMSOLL_CUDA_KERNEL(norm_cuda);
PLIMSOLL_CUDA_KERNEL(norm_grad_cuda);

namespace {

// Kernels see x [outer, mid, inner] -> y [outer, inner] (ops/common/reduce_axes.h).

constexpr int64_t kColumns = 64;  // whose sums are kept side by side

template <class P, class T>
void norm_piece(const T* x, const MiddleAxis& a, int64_t n, double p, T* y) {
  const auto finished = [p](double total) {
    return static_cast<T>(static_cast<Compute<T>>(P::root(total, p)));
  };
  if (a.inner == 1) {
    double total = 0;
#pragma omp simd reduction(+ : total)
    for (int64_t i = 0; i < a.mid; ++i) total += P::term(wide(x[i]), p);
    y[0] = finished(total);
    return;
  }
  for (int64_t c = 0; c < n; c += kColumns) {
    const int64_t m = std::min(kColumns, n - c);
    double total[kColumns] = {};
    for (int64_t row = 0; row < a.mid; ++row)
#pragma omp simd
      for (int64_t i = 0; i < m; ++i) total[i] += P::term(wide(x[row * a.inner + c + i]), p);
    for (int64_t i = 0; i < m; ++i) y[c + i] = finished(total[i]);
  }
}

void norm_cpu(const Call& call) {
  const auto& attrs = call.attrs.as<ReduceAttrs>();
  const MiddleAxis a = middle_axis(call.in[0].shape(), attrs);
  visit_floating("norm", call.in[0].dtype(), [&]<class T>() {
    const T* x = call.in[0].as<T>();
    T* y = call.out[0].as<T>();
    with_p(attrs.number, [&]<class P>(P) {
      for_each_piece(a, [&](int64_t outer, int64_t column, int64_t n, int64_t at) {
        norm_piece<P>(x + outer * a.mid * a.inner + column, a, n, attrs.number, y + at);
      });
    });
  });
}

void grad_cpu(const Call& call) {
  const auto& attrs = call.attrs.as<ReduceAttrs>();
  const MiddleAxis a = middle_axis(call.in[1].shape(), attrs);
  const double p = attrs.number;
  visit_floating("norm", call.in[1].dtype(), [&]<class T>() {
    const T *dy = call.in[0].as<T>(), *x = call.in[1].as<T>(), *y = call.in[2].as<T>();
    T* dx = call.out[0].as<T>();
    with_p(p, [&]<class P>(P) {
      const auto gradient = [p](double g, double v, double length) {
        return static_cast<T>(static_cast<Compute<T>>(g * P::slope(v, length, p)));
      };
      for_each_piece(a, [&](int64_t outer, int64_t column, int64_t n, int64_t at) {
        const int64_t first = outer * a.mid * a.inner + column;
        if (a.inner == 1) {
          const double g = wide(dy[at]), length = wide(y[at]);
#pragma omp simd
          for (int64_t i = 0; i < a.mid; ++i)
            dx[first + i] = gradient(g, wide(x[first + i]), length);
          return;
        }
        for (int64_t row = 0; row < a.mid; ++row) {
          const int64_t k = first + row * a.inner;
#pragma omp simd
          for (int64_t i = 0; i < n; ++i)
            dx[k + i] = gradient(wide(dy[at + i]), wide(x[k + i]), wide(y[at + i]));
        }
      });
    });
  });
}

constexpr OpDef grad_op{.name = "norm_grad",
                        .infer = reduce_grad_infer,
                        .cpu = grad_cpu,
                        .cuda = norm_grad_cuda,
                        .inplace = 1};

std::vector<Tensor> norm_vjp(const Backward& b) {
  return {apply1(grad_op, {contiguous(b.grad()), b.input(0), b.output(0)}, b.attrs<ReduceAttrs>())};
}

constexpr OpDef norm_op{.name = "norm",
                        .infer = reduce_infer,
                        .cpu = norm_cpu,
                        .cuda = norm_cuda,
                        .vjp = norm_vjp,
                        .saves = {.inputs = bits(0), .outputs = bits(0)},
                        .workspace = reduce_workspace<0>,
                        .cast = CastRule::full};

}  // namespace

Tensor norm(const Tensor& x, double p, const Shape& axes, Keep keep) {
  check_defined("norm", x);
  check<ValueError>(p > 0 || p == -INFINITY, "norm: p is neither positive nor infinite: ", p,
                    ". Use 1, 2 or infinity.");
  if (axes.rank() == 0) return abs(x);
  if (std::isinf(p)) return p > 0 ? amax(abs(x), axes, keep) : amin(abs(x), axes, keep);
  return reduce_axes(norm_op, x, axes, keep, p);
}

Tensor norm(const Tensor& x, double p) {
  check_defined("norm", x);
  return norm(x, p, all_axes(x.rank()));
}

extern const std::vector<const OpDef*> norm_ops{&norm_op, &grad_op};

}  // namespace plimsoll
