#include "ops/reduction/amax/amax.h"

#include <concepts>
#include <limits>

#include "core/cpu/parallel.h"
#include "core/cpu/reduce.h"
#include "core/cpu/vector.h"
#include "core/cuda/seam/cuda_kernel.h"
#include "core/engine/apply.h"
#include "ops/common/broadcast.h"
#include "ops/common/reduce_axes.h"
#include "ops/pointwise/copy/copy.h"

namespace plimsoll {

PLIMSOLL_CUDA_KERNEL(amax_cuda);
PLIMSOLL_CUDA_KERNEL(amin_cuda);
PLIMSOLL_CUDA_KERNEL(argmax_cuda);
PLIMSOLL_CUDA_KERNEL(argmin_cuda);
PLIMSOLL_CUDA_KERNEL(amax_grad_cuda);

namespace {

// Kernels see x [outer, mid, inner] -> y [outer, inner] (ops/common/reduce_axes.h).

// The minimum of x is minus the maximum of -x; a change of sign is exact.
enum class Extreme { max, min };

template <Extreme e>
constexpr const char* name_for(const char* for_max, const char* for_min) {
  return e == Extreme::max ? for_max : for_min;
}

template <Extreme e, class C>
C turned(C v) {
  return e == Extreme::max ? v : -v;
}

template <Extreme e>
Metas amax_infer(std::span<const Meta> in, const Attrs& attrs) {
  check<ShapeError>(middle_axis(in[0].shape, attrs.as<ReduceAttrs>()).mid > 0,
                    name_for<e>("amax: there is no maximum", "amin: there is no minimum"),
                    " over no elements: ", in[0].shape, ". Reduce over axes of size 1 or more.");
  return reduce_infer(in, attrs);
}

// Does a take the place of b? Never where one is NaN.
template <Extreme e, class C>
bool beats(C a, C b) {
  return e == Extreme::max ? a > b : a < b;
}

// Extreme of one contiguous run: integers as they are, of which none can be turned safely.
template <Extreme e, std::integral T>
T run_max(const T* x, int64_t n) {
  T best = x[0];
  for (int64_t i = 1; i < n; ++i) best = beats<e>(x[i], best) ? x[i] : best;
  return best;
}
template <Extreme e, class T>
T run_max(const T* x, int64_t n) {
  using C = Compute<T>;
  const auto [largest, nan] = maxima_of<C, 2>(n, [&]<class V>(int64_t i) {
    const V v = turned<e>(load_as<V>(x + i));
    return std::array<V, 2>{v, v != v ? V{} + 1 : V{}};  // the second: is it a NaN?
  });
  return static_cast<T>(nan > 0 ? std::numeric_limits<C>::quiet_NaN() : turned<e>(largest));
}

// Extremes down the columns of x [rows, stride], for n columns.
template <Extreme e, class T>
void column_max(const T* x, int64_t rows, int64_t stride, int64_t n, T* y) {
  using C = Computed<T>;
  std::copy_n(x, n, y);
  for (int64_t row = 1; row < rows; ++row) {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) {
      const C a = static_cast<C>(y[i]), b = static_cast<C>(x[row * stride + i]);
      y[i] = narrow<T>(a != a || beats<e>(a, b) ? a : b);
    }
  }
}

template <Extreme e>
void amax_cpu(const Call& call) {
  const MiddleAxis a = middle_axis(call.in[0].shape(), call.attrs.as<ReduceAttrs>());
  visit_any(call.in[0].dtype(), [&]<class T>() {
    const T* x = call.in[0].as<T>();
    T* y = call.out[0].as<T>();
    for_each_piece(a, [&](int64_t outer, int64_t column, int64_t n, int64_t at) {
      const T* from = x + outer * a.mid * a.inner + column;
      if (a.inner == 1)
        y[at] = run_max<e>(from, a.mid);
      else
        column_max<e>(from, a.mid, a.inner, n, y + at);
    });
  });
}

// dx = dy * (x == y) / (number of elements equal to y). Without one (y is NaN) that is NaN.
void amax_grad_cpu(const Call& call) {
  const MiddleAxis a = middle_axis(call.in[1].shape(), call.attrs.as<ReduceAttrs>());
  visit_floating("amax", call.out[0].dtype(), [&]<class T>() {
    using C = Compute<T>;
    const T *dy = call.in[0].as<T>(), *x = call.in[1].as<T>(), *y = call.in[2].as<T>();
    T* dx = call.out[0].as<T>();
    for_each_columns(a, [&](int64_t from, int64_t n, int64_t at) {
      double ties[kReducedColumns];
      C largest[kReducedColumns], share[kReducedColumns], other[kReducedColumns];
      for (int64_t i = 0; i < n; ++i) largest[i] = static_cast<C>(y[at + i]);
      add_columns(x + from, a, n, ties,
                  [&](double v, int64_t i) { return v == static_cast<double>(largest[i]); });
      for (int64_t i = 0; i < n; ++i) {
        constexpr C kNan = std::numeric_limits<C>::quiet_NaN();
        share[i] = ties[i] > 0 ? static_cast<C>(dy[at + i]) / static_cast<C>(ties[i]) : kNan;
        other[i] = ties[i] > 0 ? C(0) : kNan;
      }
      map_columns(x + from, a, n, dx + from,
                  [&](C v, int64_t i) { return v == largest[i] ? share[i] : other[i]; });
    });
  });
}

template <Extreme e>
constexpr OpDef amax_grad_op{.name = name_for<e>("amax_grad", "amin_grad"),
                             .infer = reduce_grad_infer,
                             .cpu = amax_grad_cpu,
                             .cuda = amax_grad_cuda,
                             .workspace = reduce_grad_workspace};

template <Extreme e>
std::vector<Tensor> amax_vjp(const Backward& b) {
  return {apply1(amax_grad_op<e>, {contiguous(b.grad()), b.input(0), b.output(0)},
                 b.attrs<ReduceAttrs>())};
}

template <Extreme e>
constexpr OpDef amax_op{.name = name_for<e>("amax", "amin"),
                        .infer = amax_infer<e>,
                        .cpu = amax_cpu<e>,
                        .cuda = e == Extreme::max ? amax_cuda : amin_cuda,
                        .vjp = {.rule = amax_vjp<e>, .inputs = bits(0), .outputs = bits(0)},
                        .workspace = reduce_workspace};

template <Extreme e>
Metas argmax_infer(std::span<const Meta> in, const Attrs& attrs) {
  check<ShapeError>(middle_axis(in[0].shape, attrs.as<ReduceAttrs>()).mid > 0,
                    name_for<e>("argmax: there is no maximum", "argmin: there is no minimum"),
                    " over no elements: ", in[0].shape, ". Reduce over an axis of size 1 or more.");
  Metas out = reduce_infer(in, attrs);
  out[0].dtype = DType::i64;
  return out;
}

// Where the extreme of a run is: the first of equals, or the first NaN. Lanes find the extreme, and
// then the first so many elements with it.
template <Extreme e, class T>
int64_t run_argmax(const T* x, int64_t n) {
  using C = Computed<T>;
  const C largest = static_cast<C>(run_max<e>(x, n));
  // Where there are NaNs, nothing equals `largest`.
  const auto is_it = [&](T element) {
    const C v = static_cast<C>(element);
    return v == largest || v != v;
  };
  constexpr int64_t kStep = 64;
  int64_t i = 0;
  for (; i + kStep < n; i += kStep) {
    int found = 0;
#pragma omp simd reduction(+ : found)
    for (int64_t k = 0; k < kStep; ++k) found += is_it(x[i + k]) ? 1 : 0;
    if (found > 0) break;
  }
  while (!is_it(x[i])) ++i;
  return i;
}

// The same down the columns of x [rows, stride], for n <= kReducedColumns columns.
template <Extreme e, class T>
void column_argmax(const T* x, int64_t rows, int64_t stride, int64_t n, int64_t* y) {
  using C = Computed<T>;
  C largest[kReducedColumns], widened[kReducedColumns];
  for (int64_t i = 0; i < n; ++i) largest[i] = static_cast<C>(x[i]);
  std::fill_n(y, n, 0);
  for (int64_t row = 1; row < rows; ++row) {
    // In a loop of their own 16-bit types become vectors.
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) widened[i] = static_cast<C>(x[row * stride + i]);
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) {
      const C old = largest[i], v = widened[i];
      const bool taken = old == old && (v != v || beats<e>(v, old));
      largest[i] = taken ? v : old;
      y[i] = taken ? row : y[i];
    }
  }
}

template <Extreme e>
void argmax_cpu(const Call& call) {
  const MiddleAxis a = middle_axis(call.in[0].shape(), call.attrs.as<ReduceAttrs>());
  visit_any(call.in[0].dtype(), [&]<class T>() {
    const T* x = call.in[0].as<T>();
    int64_t* y = call.out[0].as<int64_t>();
    for_each_columns(a, [&](int64_t from, int64_t n, int64_t at) {
      if (a.inner == 1)
        y[at] = run_argmax<e>(x + from, a.mid);
      else
        column_argmax<e>(x + from, a.mid, a.inner, n, y + at);
    });
  });
}

template <Extreme e>
constexpr OpDef argmax_op{.name = name_for<e>("argmax", "argmin"),
                          .infer = argmax_infer<e>,
                          .cpu = argmax_cpu<e>,
                          .cuda = e == Extreme::max ? argmax_cuda : argmin_cuda,
                          .workspace = reduce_workspace};

constexpr Extreme kMax = Extreme::max, kMin = Extreme::min;

}  // namespace

Tensor amax(const Tensor& x, const Shape& axes, Keep keep) {
  return reduce_axes_any(amax_op<kMax>, x, axes, keep);
}

Tensor amin(const Tensor& x, const Shape& axes, Keep keep) {
  return reduce_axes_any(amax_op<kMin>, x, axes, keep);
}

Tensor argmax(const Tensor& x, int64_t axis, Keep keep) {
  return reduce_axes_any(argmax_op<kMax>, x, {axis}, keep);
}

Tensor argmin(const Tensor& x, int64_t axis, Keep keep) {
  return reduce_axes_any(argmax_op<kMin>, x, {axis}, keep);
}

extern const std::vector<const OpDef*> amax_ops{&amax_op<kMax>,      &amax_op<kMin>,
                                                &amax_grad_op<kMax>, &amax_grad_op<kMin>,
                                                &argmax_op<kMax>,    &argmax_op<kMin>};

}  // namespace plimsoll
