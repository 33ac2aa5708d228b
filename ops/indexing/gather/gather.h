// Elements picked by integer tensors, and added to the places that integers name.
//
//   Tensor rows = index_select(x, 0, ids);            // [N, D], [K] -> [K, D]
//   Tensor score = gather(logits, -1, labels);        // [N, C], [N, 1] -> [N, 1]
//   Tensor sums = scatter_add(zeros({n, 4}), 0, ids, src);
//   Tensor targets = one_hot(labels, 10);             // [N] -> f32 [N, 10]
//
// ids are i64 or i32, from 0 and below the size of the axis; IndexError names the first that is not
// and its position in row-major order (an empty result has none read). Others: ShapeError (no such
// axis, sizes that do not fit, scatter_add to an axis of size 0), DTypeError. Elements that meet in
// one place are added in the order of their ids, 16-bit ones in f32, on any number of threads.
#pragma once

#include "core/tensor/tensor.h"

namespace plimsoll {

// y[.., k, ..] = x[.., ids[k], ..] along the axis, for a list of ids; any dtype.
Tensor index_select(const Tensor& x, int64_t axis, const Tensor& ids);

// y[.., k, ..] = x[.., ids[.., k, ..], ..]: every element of y has its own id. ids has as many axes
// as x, and along the others at most x's sizes; any dtype.
Tensor gather(const Tensor& x, int64_t axis, const Tensor& ids);

// A copy of x with y[.., ids[.., k, ..], ..] += src[.., k, ..]. Sizes of ids: at most src's, and
// along the other axes at most x's; elements of src beyond them are not used. Floating types.
Tensor scatter_add(const Tensor& x, int64_t axis, const Tensor& ids, const Tensor& src);

// 1 at ids[..], else 0, along a new last axis of size `classes`.
Tensor one_hot(const Tensor& ids, int64_t classes, DType dtype = DType::f32);

}  // namespace plimsoll
