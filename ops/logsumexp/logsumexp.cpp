#include "ops/logsumexp/logsumexp.h"

#include <limits>

#include "core/cpu/math.h"
#include "ops/copy/copy.h"
#include "ops/expect.h"
#include "ops/reduce_axes.h"

namespace plimsoll {
namespace {

// Kernels see x [outer, mid, inner] -> y [outer, inner] (ops/reduce_axes.h).

constexpr int64_t kColumns = 64;  // whose maxima and sums are kept side by side

template <class C>
constexpr C kLowest = -std::numeric_limits<C>::infinity();

// An infinite maximum must not be subtracted from itself.
template <class C>
C finite_or_zero(C m) {
  return m - m == 0 ? m : C(0);
}

template <class T>
T run_logsumexp(const T* x, int64_t n) {
  using C = Compute<T>;
  C m = kLowest<C>;
#pragma omp simd reduction(max : m)
  for (int64_t i = 0; i < n; ++i) {
    const C v = static_cast<C>(x[i]);
    m = v > m ? v : m;
  }
  m = finite_or_zero(m);
  double total = 0;
  for (int64_t begin = 0; begin < n; begin += 1024) {
    const int64_t end = std::min(n, begin + 1024);
    C block = 0;
#pragma omp simd reduction(+ : block)
    for (int64_t i = begin; i < end; ++i) block += math::exp(static_cast<C>(x[i]) - m);
    total += block;
  }
  return static_cast<T>(static_cast<C>(m + std::log(total)));
}

// Down the columns of x [rows, stride], for n <= kColumns columns.
template <class T>
void column_logsumexp(const T* x, int64_t rows, int64_t stride, int64_t n, T* y) {
  using C = Compute<T>;
  C m[kColumns];
  double total[kColumns] = {};
  std::fill_n(m, n, kLowest<C>);
  for (int64_t row = 0; row < rows; ++row) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) {
      const C v = static_cast<C>(x[row * stride + i]);
      m[i] = v > m[i] ? v : m[i];
    }
  }
  for (int64_t i = 0; i < n; ++i) m[i] = finite_or_zero(m[i]);
  for (int64_t row = 0; row < rows; ++row) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i)
      total[i] += static_cast<double>(math::exp(static_cast<C>(x[row * stride + i]) - m[i]));
  }
  for (int64_t i = 0; i < n; ++i)
    y[i] = static_cast<T>(static_cast<C>(static_cast<double>(m[i]) + std::log(total[i])));
}

void logsumexp_cpu(const Call& call) {
  const MiddleAxis a = middle_axis(call.in[0].shape(), call.attrs.as<ReduceAttrs>());
  visit_floating("logsumexp", call.in[0].dtype(), [&]<class T>() {
    const T* x = call.in[0].as<T>();
    T* y = call.out[0].as<T>();
    for_each_piece(a, [&](int64_t outer, int64_t column, int64_t n, int64_t at) {
      const T* from = x + outer * a.mid * a.inner + column;
      if (a.inner == 1)
        y[at] = run_logsumexp(from, a.mid);
      else
        for (int64_t c = 0; c < n; c += kColumns)
          column_logsumexp(from + c, a.mid, a.inner, std::min(kColumns, n - c), y + at + c);
    });
  });
}

// dx = dy exp(x - y); y = -inf came from exponentials of 0, and so does their share.
void grad_cpu(const Call& call) {
  const MiddleAxis a = middle_axis(call.in[1].shape(), call.attrs.as<ReduceAttrs>());
  visit_floating("logsumexp", call.out[0].dtype(), [&]<class T>() {
    using C = Compute<T>;
    const T *dy = call.in[0].as<T>(), *x = call.in[1].as<T>(), *y = call.in[2].as<T>();
    T* dx = call.out[0].as<T>();
    const auto share = [](C g, C v, C total) {
      return static_cast<T>(g * math::exp(v - (total == kLowest<C> ? C(0) : total)));
    };
    for_each_piece(a, [&](int64_t outer, int64_t column, int64_t n, int64_t at) {
      const int64_t first = outer * a.mid * a.inner + column;
      if (a.inner == 1) {
        const C g = static_cast<C>(dy[at]), total = static_cast<C>(y[at]);
#pragma omp simd
        for (int64_t i = 0; i < a.mid; ++i)
          dx[first + i] = share(g, static_cast<C>(x[first + i]), total);
        return;
      }
      for (int64_t row = 0; row < a.mid; ++row) {
#pragma omp simd
        for (int64_t i = 0; i < n; ++i) {
          const int64_t k = first + row * a.inner + i;
          dx[k] =
              share(static_cast<C>(dy[at + i]), static_cast<C>(x[k]), static_cast<C>(y[at + i]));
        }
      }
    });
  });
}

Metas grad_infer(std::span<const Meta> in, const Attrs&) { return {in[1]}; }

constexpr OpDef grad_op{
    .name = "logsumexp_grad", .infer = grad_infer, .cpu = grad_cpu, .inplace = 1};

std::vector<Tensor> logsumexp_vjp(const Backward& b) {
  return {apply1(grad_op, {contiguous(b.grad()), b.input(0), b.output(0)}, b.attrs<ReduceAttrs>())};
}

constexpr OpDef logsumexp_op{.name = "logsumexp",
                             .infer = reduce_infer,
                             .cpu = logsumexp_cpu,
                             .vjp = logsumexp_vjp,
                             .saves = {.inputs = bits(0), .outputs = bits(0)}};

}  // namespace

Tensor logsumexp(const Tensor& x, const Shape& axes, Keep keep) {
  check_defined("logsumexp", x);
  return reduce_axes(logsumexp_op, x, axes, keep);
}

extern const std::vector<const OpDef*> logsumexp_ops;
const std::vector<const OpDef*> logsumexp_ops{&logsumexp_op, &grad_op};

}  // namespace plimsoll
