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

constexpr int64_t kColumns = 64;  // whose means are kept side by side

// Calls f(first column, their number, means) for blocks of at most kColumns of n neighbouring
// columns, `rows` rows of which lie `step` apart from x on.
template <class T, class F>
void with_means(const T* x, int64_t rows, int64_t step, int64_t n, const F& f) {
  const double divisor = static_cast<double>(rows);
  if (step == 1) {  // one run
    double total = 0;
#pragma omp simd reduction(+ : total)
    for (int64_t i = 0; i < rows; ++i) total += wide(x[i]);
    const double mean = total / divisor;
    return f(int64_t{0}, int64_t{1}, &mean);
  }
  for (int64_t c = 0; c < n; c += kColumns) {
    const int64_t m = std::min(kColumns, n - c);
    double mean[kColumns] = {};
    for (int64_t row = 0; row < rows; ++row)
#pragma omp simd
      for (int64_t i = 0; i < m; ++i) mean[i] += wide(x[row * step + c + i]);
    for (int64_t i = 0; i < m; ++i) mean[i] /= divisor;
    f(c, m, mean);
  }
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
    const auto finished = [&](double squares) {
      const double v = squares / divisor;
      return static_cast<T>(static_cast<Compute<T>>(root == Root::yes ? std::sqrt(v) : v));
    };
    for_each_piece(a, [&](int64_t outer, int64_t column, int64_t n, int64_t at) {
      const T* from = x + outer * a.mid * a.inner + column;
      with_means(from, a.mid, a.inner, n, [&](int64_t c, int64_t m, const double* mean) {
        if (a.inner == 1) {
          double squares = 0;
#pragma omp simd reduction(+ : squares)
          for (int64_t i = 0; i < a.mid; ++i)
            squares += (wide(from[i]) - mean[0]) * (wide(from[i]) - mean[0]);
          y[at] = finished(squares);
          return;
        }
        double squares[kColumns] = {};
        for (int64_t row = 0; row < a.mid; ++row)
#pragma omp simd
          for (int64_t i = 0; i < m; ++i) {
            const double d = wide(from[row * a.inner + c + i]) - mean[i];
            squares[i] += d * d;
          }
        for (int64_t i = 0; i < m; ++i) y[at + c + i] = finished(squares[i]);
      });
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
    for_each_piece(a, [&](int64_t outer, int64_t column, int64_t n, int64_t at) {
      const int64_t first = outer * a.mid * a.inner + column;
      with_means(x + first, a.mid, a.inner, n, [&](int64_t c, int64_t m, const double* mean) {
        double factors[kColumns];
        for (int64_t i = 0; i < m; ++i) factors[i] = factor(at + c + i);
        const auto gradient = [](double f, T v, double own_mean) {
          return static_cast<T>(static_cast<Compute<T>>(f * (wide(v) - own_mean)));
        };
        if (a.inner == 1) {
          const double f = factors[0], own_mean = mean[0];
#pragma omp simd
          for (int64_t i = 0; i < a.mid; ++i) dx[first + i] = gradient(f, x[first + i], own_mean);
          return;
        }
        for (int64_t row = 0; row < a.mid; ++row) {
          const int64_t k = first + row * a.inner + c;
#pragma omp simd
          for (int64_t i = 0; i < m; ++i) dx[k + i] = gradient(factors[i], x[k + i], mean[i]);
        }
      });
    });
  });
}

template <Root root>
constexpr OpDef grad_op{.name = root == Root::yes ? "stddev_grad" : "variance_grad",
                        .infer = reduce_grad_infer,
                        .cpu = grad_cpu<root>,
                        .cuda = root == Root::yes ? stddev_grad_cuda : variance_grad_cuda,
                        .workspace = reduce_workspace<1>};

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
                   .vjp = vjp<root>,
                   .saves = {.inputs = bits(0), .outputs = bits(0)},
                   .workspace = reduce_workspace<0>,
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
