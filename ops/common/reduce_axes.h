// What all reductions over axes share. Kernels see one run of neighbouring axes to reduce, as
// x [outer, mid, inner] -> y [outer, inner]; reduce_axes() brings any other choice into that form.
#pragma once

#include "core/cpu/parallel.h"
#include "core/cpu/vector.h"
#include "core/engine/apply.h"
#include "ops/reduction/sum/sum.h"

namespace plimsoll {

struct ReduceAttrs {
  int first = 0, last = 0;  // reduces axes first ... last - 1
  Keep keep = Keep::none;
  double number = 0;  // the op's own: the correction of a variance, the p of a norm
  bool operator==(const ReduceAttrs&) const = default;
};

struct MiddleAxis {
  int64_t outer = 1, mid = 1, inner = 1;
};
MiddleAxis middle_axis(const Shape& shape, const ReduceAttrs& attrs);
inline MiddleAxis middle_axis(const Shape& shape, int axis) {
  return middle_axis(shape, ReduceAttrs{axis, axis + 1});
}

// Calls f(outer index, first column, number of columns, place in y) for pieces of y, of at least a
// cache line of columns.
template <class F>
void for_each_piece(const MiddleAxis& a, F&& f) {
  const int64_t grain = std::max(grain_for(a.mid), std::min<int64_t>(a.inner, 64));
  parallel_for(a.outer * a.inner, grain, [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t column = begin % a.inner;
      const int64_t n = std::min(end - begin, a.inner - column);
      f(begin / a.inner, column, n, begin);
      begin += n;
    }
  });
}

// An element as sums in double take it.
template <class T>
double wide(T v) {
  return static_cast<double>(static_cast<Compute<T>>(v));
}

constexpr int64_t kReducedColumns = 64;  // whose results are kept side by side

// Calls f(first element of x, number of columns, place in y) for blocks of at most kReducedColumns
// neighbouring columns; where inner is 1, for each row.
template <class F>
void for_each_columns(const MiddleAxis& a, const F& f) {
  for_each_piece(a, [&](int64_t outer, int64_t column, int64_t n, int64_t at) {
    for (int64_t c = 0; c < n; c += kReducedColumns)
      f(outer * a.mid * a.inner + column + c, std::min(kReducedColumns, n - c), at + c);
  });
}

// Of such a block: total[i] = the sum of term(element, i) over column i, in double.
template <class T, class F>
void add_columns(const T* x, const MiddleAxis& a, int64_t n, double* total, const F& term) {
  if (a.inner == 1) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t row = 0; row < a.mid; ++row) sum += term(wide(x[row]), 0);
    *total = sum;
    return;
  }
  std::fill_n(total, n, 0.0);
  for (int64_t row = 0; row < a.mid; ++row)
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) total[i] += term(wide(x[row * a.inner + i]), i);
}

// And dx[.., i] = f(element, i), computed in Compute<T> or double.
template <class T, class F>
void map_columns(const T* x, const MiddleAxis& a, int64_t n, T* dx, const F& f) {
  using C = Compute<T>;
  if (a.inner == 1) {
#pragma omp simd
    for (int64_t row = 0; row < a.mid; ++row)
      dx[row] = narrow<T>(static_cast<C>(f(static_cast<C>(x[row]), 0)));
    return;
  }
  for (int64_t row = 0; row < a.mid; ++row, x += a.inner, dx += a.inner)
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) dx[i] = narrow<T>(static_cast<C>(f(static_cast<C>(x[i]), i)));
}

// On a GPU, mid is cut into chunks of this many rows, so that a few long sums keep it busy too. The
// states of all chunks, where there are several, are scratch.
int64_t cuda_chunk(const MiddleAxis& a);
constexpr int64_t kReduceState = 24;  // bytes of one
int64_t cuda_reduce_bytes(const MiddleAxis& a);

// Scratch of a reduction of input 0, and of a gradient that reduces input 1 first: nothing on the
// CPU.
int64_t reduce_workspace(const Call& call);
int64_t reduce_grad_workspace(const Call& call);

Shape reduced_shape(const Shape& shape, const ReduceAttrs& attrs, Keep keep);
Shape all_axes(int rank);

// Shape rule of reductions with one output of the input's dtype.
Metas reduce_infer(std::span<const Meta> in, const Attrs& attrs);

// That of their gradients, whose inputs are dy, x and perhaps y.
inline Metas reduce_grad_infer(std::span<const Meta> in, const Attrs&) { return {in[1]}; }

// Applies a reduction op over any axes of x: neighbouring ones in place, others after moving them
// to the end. ShapeError when an axis does not exist or is named twice; DTypeError for integers and
// bools, which reduce_axes_any takes.
Tensor reduce_axes(const OpDef& op, const Tensor& x, const Shape& axes, Keep keep,
                   double number = 0);
Tensor reduce_axes_any(const OpDef& op, const Tensor& x, const Shape& axes, Keep keep,
                       double number = 0);

}  // namespace plimsoll
