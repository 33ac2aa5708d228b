// What all reductions over axes share. Kernels see one run of neighbouring axes to reduce, as
// x [outer, mid, inner] -> y [outer, inner]; reduce_axes() brings any other choice into that form.
#pragma once

#include "core/apply.h"
#include "ops/sum/sum.h"

namespace plimsoll {

struct ReduceAttrs {
  int first = 0, last = 0;  // reduces axes first ... last - 1
  Keep keep = Keep::none;
  bool operator==(const ReduceAttrs&) const = default;
};

struct MiddleAxis {
  int64_t outer = 1, mid = 1, inner = 1;
};
MiddleAxis middle_axis(const Shape& shape, const ReduceAttrs& attrs);

Shape reduced_shape(const Shape& shape, const ReduceAttrs& attrs, Keep keep);
Shape all_axes(int rank);

// Shape rule of reductions with one output of the input's dtype.
Metas reduce_infer(std::span<const Meta> in, const Attrs& attrs);

// Applies a reduction op over any axes of x: neighbouring ones in place, others after moving them
// to the end. ShapeError when an axis does not exist or is named twice.
Tensor reduce_axes(const OpDef& op, const Tensor& x, const Shape& axes, Keep keep);

}  // namespace plimsoll
