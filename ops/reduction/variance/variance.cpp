#include "ops/reduction/variance/variance.h"

#include "core/cuda/seam/cuda_kernel.h"
#include "ops/common/expect.h"
#include "ops/common/reduce_axes.h"
#include "ops/pointwise/copy/copy.h"
#include "ops/shape/view/view.h"

namespace plimsoll {

PLIMSOLL_CUDA_KERNEL(variance_cuda);
PLIMSOLL_CUDA_KERNEL(stddev_cuda);
PLIMSOLL_CUDA_KERNEL(variance_grad_cuda);
PLIMSOLL_CUDA_KERNEL(stddev_grad_cuda);

namespace {

// Kernels see x [outer, mid, inner] -> y [outer, inner] (ops/common/reduce_axes.h).

enum class Root { no, yes };

// The means of n <= kReducedColumns neighbouring columns, the first of which begins at x.
template <class T>
void means_of(const T* x, const MiddleAxis& a, int64_t n, double* mean) {
  add_columns(x, a, n, mean, [](double v, int64_t) { return v; });
  for (int64_t i = 0; i < n; ++i) mean[i] /= static_cast<double>(a.mid);
}

double freedom(const MiddleAxis& a, double correction) {
  return std::max(0.0, static_cast<double>(a.mid) - correction);
}

template <Root root>
void variance_cpu(const Call& call) {
  const auto& attrs = call.attrs.as<ReduceAttrs>();
  const MiddleAxis a = middle_axis(call.in[0].shape(), attrs);
  const double divisor = freedom(a, attrs.number);
  visit_floating("variance", call.in[0].dtype(), [&]<class T>() {
    const T* x = call.in[0].as<T>();
    T* y = call.out[0].as<T>();
    for_each_columns(a, [&](int64_t first, int64_t n, int64_t at) {
      double mean[kReducedColumns], squares[kReducedColumns];
      means_of(x + first, a, n, mean);
      add_columns(x + first, a, n, squares,
                  [&](double v, int64_t i) { return (v - mean[i]) * (v - mean[i]); });
      for (int64_t i = 0; i < n; ++i) {
        const double v = squares[i] / divisor;
        y[at + i] = static_cast<T>(static_cast<Compute<T>>(root == Root::yes ? std::sqrt(v) : v));
      }
    });
  });
}

// dx = dy 2 (x - mean) / freedom, and for the root dy (x - mean) / (y freedom).
template <Root root>
void grad_cpu(const Call& call) {
  const auto& attrs = call.attrs.as<ReduceAttrs>();
  const MiddleAxis a = middle_axis(call.in[1].shape(), attrs);
  const double divisor = freedom(a, attrs.number);
  visit_floating("variance", call.in[1].dtype(), [&]<class T>() {
    const T *dy = call.in[0].as<T>(), *x = call.in[1].as<T>(), *y = call.in[2].as<T>();
    T* dx = call.out[0].as<T>();
    const auto factor = [&](int64_t i) {
      if (root == Root::no) return wide(dy[i]) * 2 / divisor;
      return wide(y[i]) == 0 ? 0 : wide(dy[i]) / (wide(y[i]) * divisor);
    };
    for_each_columns(a, [&](int64_t first, int64_t n, int64_t at) {
      double mean[kReducedColumns], factors[kReducedColumns];
      means_of(x + first, a, n, mean);
      for (int64_t i = 0; i < n; ++i) factors[i] = factor(at + i);
      map_columns(x + first, a, n, dx + first,
                  [&](double v, int64_t i) { return factors[i] * (v - mean[i]); });
    });
  });
}

template <Root root>
constexpr OpDef grad_op{.name = root == Root::yes ? "stddev_grad" : "variance_grad",
                        .infer = reduce_grad_infer,
                        .cpu = grad_cpu<root>,
                        .cuda = root == Root::yes ? stddev_grad_cuda : variance_grad_cuda,
                        .workspace = reduce_grad_workspace};

template <Root root>
std::vector<Tensor> vjp(const Backward& b) {
  return {apply1(grad_op<root>, {contiguous(b.grad()), b.input(0), b.output(0)},
                 b.attrs<ReduceAttrs>())};
}

template <Root root>
constexpr OpDef op{.name = root == Root::yes ? "stddev" : "variance",
                   .infer = reduce_infer,
                   .cpu = variance_cpu<root>,
                   .cuda = root == Root::yes ? stddev_cuda : variance_cuda,
                   .vjp = {.rule = vjp<root>, .inputs = bits(0), .outputs = bits(0)},
                   .workspace = reduce_workspace,
                   .cast = CastRule::full};

// Over no axes each element is a group of its own: a row of one.
Tensor over_axes(const OpDef& op, const Tensor& x, const Shape& axes, Keep keep,
                 const VarianceOptions& options) {
  check<ValueError>(std::isfinite(options.correction), op.name,
                    ": the correction is not a number: ", options.correction, ". Use 1 or 0.");
  if (axes.rank() > 0) return reduce_axes(op, x, axes, keep, options.correction);
  const Tensor rows = reshape(x, {x.count(), 1});
  return reshape(reduce_axes(op, rows, {1}, Keep::none, options.correction), x.shape());
}

}  // namespace

Tensor variance(const Tensor& x, const Shape& axes, Keep keep, const VarianceOptions& options) {
  check_defined("variance", x);
  return over_axes(op<Root::no>, x, axes, keep, options);
}

Tensor stddev(const Tensor& x, const Shape& axes, Keep keep, const VarianceOptions& options) {
  check_defined("stddev", x);
  return over_axes(op<Root::yes>, x, axes, keep, options);
}

extern const std::vector<const OpDef*> variance_ops{&op<Root::no>, &op<Root::yes>,
                                                    &grad_op<Root::no>, &grad_op<Root::yes>};

}  // namespace plimsoll
