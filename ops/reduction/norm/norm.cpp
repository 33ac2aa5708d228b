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

void norm_cpu(const Call& call) {
  const auto& attrs = call.attrs.as<ReduceAttrs>();
  const MiddleAxis a = middle_axis(call.in[0].shape(), attrs);
  const double p = attrs.number;
  visit_floating("norm", call.in[0].dtype(), [&]<class T>() {
    const T* x = call.in[0].as<T>();
    T* y = call.out[0].as<T>();
    with_p(p, [&]<class P>(P) {
      for_each_columns(a, [&](int64_t first, int64_t n, int64_t at) {
        double total[kReducedColumns];
        add_columns(x + first, a, n, total, [p](double v, int64_t) { return P::term(v, p); });
        for (int64_t i = 0; i < n; ++i)
          y[at + i] = static_cast<T>(static_cast<Compute<T>>(P::root(total[i], p)));
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
      for_each_columns(a, [&](int64_t first, int64_t n, int64_t at) {
        double grad[kReducedColumns], length[kReducedColumns];
        std::transform(dy + at, dy + at + n, grad, wide<T>);
        std::transform(y + at, y + at + n, length, wide<T>);
        map_columns(x + first, a, n, dx + first,
                    [&](double v, int64_t i) { return grad[i] * P::slope(v, length[i], p); });
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
                        .vjp = {.rule = norm_vjp, .inputs = bits(0), .outputs = bits(0)},
                        .workspace = reduce_workspace,
                        .cast = CastRule::full};

}  // namespace

Tensor norm(const Tensor& x, double p, const Shape& axes, Keep keep) {
  check_defined("norm", x);
  check_floating("norm", x.dtype());
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
