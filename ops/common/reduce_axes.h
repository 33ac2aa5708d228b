// What all reductions over axes share. Kernels see one run of neighbouring axes to reduce, as
// x [outer, mid, inner] -> y [outer, inner]; reduce_axes() brings any other choice into that form.
#pragma once

#include "core/cpu/parallel.h"
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

// An element as sums in double take it.
template <class T>
double wide(T v) {
  return static_cast<double>(static_cast<Compute<T>>(v));
}

// Applies a reduction op over any axes of x: neighbouring ones in place, others after moving them
// to the end. ShapeError when an axis does not exist or is named twice; DTypeError for integers and
// bools, which reduce_axes_any takes.
Tensor reduce_axes(const OpDef& op, const Tensor& x, const Shape& axes, Keep keep,
                   double number = 0);
Tensor reduce_axes_any(const OpDef& op, const Tensor& x, const Shape& axes, Keep keep,
                       double number = 0);

}  // namespace plimsoll
