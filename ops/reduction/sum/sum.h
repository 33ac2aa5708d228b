// Sums and means over axes.
//
//   Tensor s = sum(x, {0, 1});                        // [N, T, D] -> [D]
//   Tensor m = mean(x, {-1}, Keep::ones);             // [N, T, D] -> [N, T, 1]
//
// Accumulated in f32 within blocks of about a thousand elements and in f64 across them (f64
// tensors, and all on a GPU, in f64 throughout), in an order that depends on the shape alone. A
// mean is divided before it is rounded to the dtype: an f16 mean exists where the sum would be
// infinite. Over no elements the sum is 0 and the mean NaN. Sums of integers and bools are i64:
// sum(eq(a, b)) counts.
#pragma once

#include "core/tensor/tensor.h"

namespace plimsoll {

enum class Keep { none, ones };  // what becomes of a reduced axis: dropped, or kept with size 1

// Over the given axes; a mean of floating types only. ShapeError when an axis does not exist or is
// named twice.
Tensor sum(const Tensor& x, const Shape& axes, Keep keep = Keep::none);
Tensor mean(const Tensor& x, const Shape& axes, Keep keep = Keep::none);

// Over all axes: a scalar.
Tensor sum(const Tensor& x);
Tensor mean(const Tensor& x);

// Sums x down to `shape`, over the axes that broadcasting `shape` to x's shape would repeat: the
// gradient of broadcasting.
Tensor sum_to(const Tensor& x, const Shape& shape);

}  // namespace plimsoll
