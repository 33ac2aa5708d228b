#include "ops/reduction/prod/prod.h"

#include "core/cuda/seam/cuda_kernel.h"
#include "ops/common/expect.h"
#include "ops/common/reduce_axes.h"
#include "ops/pointwise/copy/copy.h"

namespace plimsoll {

PLIMSOLL_CUDA_KERNEL(prod_cuda);
PLIMSOLL_CUDA_KERNEL(prod_grad_cuda);

namespace {

// Kernels see x [outer, mid, inner] -> y [outer, inner] (ops/common/reduce_axes.h).

// Of n <= kReducedColumns columns: the product of all elements that are not 0, and how many are.
struct Products {
  double others[kReducedColumns];
  int64_t zeros[kReducedColumns];

  template <class T>
  Products(const T* x, const MiddleAxis& a, int64_t n) {
    std::fill_n(others, n, 1.0);
    std::fill_n(zeros, n, 0);
    if (a.inner == 1) {
      double product = 1;
      int64_t none = 0;
#pragma omp simd reduction(* : product) reduction(+ : none)
      for (int64_t i = 0; i < a.mid; ++i) {
        const double v = wide(x[i]);
        product *= v == 0 ? 1 : v;
        none += v == 0;
      }
      others[0] = product;
      zeros[0] = none;
      return;
    }
    for (int64_t row = 0; row < a.mid; ++row)
#pragma omp simd
      for (int64_t i = 0; i < n; ++i) {
        const double v = wide(x[row * a.inner + i]);
        others[i] *= v == 0 ? 1 : v;
        zeros[i] += v == 0;
      }
  }
};

void prod_cpu(const Call& call) {
  const MiddleAxis a = middle_axis(call.in[0].shape(), call.attrs.as<ReduceAttrs>());
  visit_floating("prod", call.in[0].dtype(), [&]<class T>() {
    const T* x = call.in[0].as<T>();
    T* y = call.out[0].as<T>();
    for_each_columns(a, [&](int64_t first, int64_t n, int64_t at) {
      const Products p(x + first, a, n);
      for (int64_t i = 0; i < n; ++i)  // infinity times 0 is NaN, whatever their order
        y[at + i] =
            static_cast<T>(static_cast<Compute<T>>(p.zeros[i] > 0 ? p.others[i] * 0 : p.others[i]));
    });
  });
}

void grad_cpu(const Call& call) {
  const MiddleAxis a = middle_axis(call.in[1].shape(), call.attrs.as<ReduceAttrs>());
  visit_floating("prod", call.in[1].dtype(), [&]<class T>() {
    const T *dy = call.in[0].as<T>(), *x = call.in[1].as<T>();
    T* dx = call.out[0].as<T>();
    for_each_columns(a, [&](int64_t first, int64_t n, int64_t at) {
      const Products p(x + first, a, n);
      double without_zeros[kReducedColumns],
          one_zero[kReducedColumns];  // what is left of an element, and of a 0
      for (int64_t i = 0; i < n; ++i) {
        const double whole = wide(dy[at + i]) * p.others[i];
        without_zeros[i] = p.zeros[i] == 0 ? whole : 0;
        one_zero[i] = p.zeros[i] == 1 ? whole : 0;
      }
      map_columns(x + first, a, n, dx + first,
                  [&](double v, int64_t i) { return v == 0 ? one_zero[i] : without_zeros[i] / v; });
    });
  });
}

constexpr OpDef grad_op{.name = "prod_grad",
                        .infer = reduce_grad_infer,
                        .cpu = grad_cpu,
                        .cuda = prod_grad_cuda,
                        .workspace = reduce_grad_workspace};

std::vector<Tensor> prod_vjp(const Backward& b) {
  return {apply1(grad_op, {contiguous(b.grad()), b.input(0)}, b.attrs<ReduceAttrs>())};
}

constexpr OpDef prod_op{.name = "prod",
                        .infer = reduce_infer,
                        .cpu = prod_cpu,
                        .cuda = prod_cuda,
                        .vjp = {.rule = prod_vjp, .inputs = bits(0)},
                        .workspace = reduce_workspace,
                        .cast = CastRule::full};

}  // namespace

Tensor prod(const Tensor& x, const Shape& axes, Keep keep) {
  check_defined("prod", x);
  return reduce_axes(prod_op, x, axes, keep);
}

Tensor prod(const Tensor& x) {
  check_defined("prod", x);
  return prod(x, all_axes(x.rank()));
}

extern const std::vector<const OpDef*> prod_ops{&prod_op, &grad_op};

}  // namespace plimsoll
