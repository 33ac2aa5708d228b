// The same elements in other places: reversed, rotated, repeated, padded, stacked, triangular.
//
//   Tensor mirrored = flip(image, {2});               // [N, H, W, C], left and right
//   Tensor shifted = roll(x, {1}, {-1});              // the last element comes first
//   Tensor wide = tile(x, {1, 3});                    // [N, D] -> [N, 3 D]
//   Tensor padded = pad(x, {{0, 0}, {1, 2}});         // [N, D] -> [N, 1 + D + 2]
//   Tensor batch = stack(std::array{a, b}, 0);        // two of [D] -> [2, D]
//   Tensor mask = tril(ones({t, t}));                 // ones on and below the diagonal
//
// Any dtype. The gradient of each puts the elements back, and adds where they were repeated.
// Errors: ShapeError (no such axis, one named twice, amounts that do not fit).
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "core/tensor/tensor.h"

namespace plimsoll {

// Reverses the order along the axes.
Tensor flip(const Tensor& x, const Shape& axes);

// Element i along axes[k] moves to (i + shifts[k]) mod size; shifts are any numbers.
Tensor roll(const Tensor& x, const Shape& shifts, const Shape& axes);

// x side by side repeats[axis] times along every axis, as torch.tile: repeats and axes are aligned
// right, and missing ones count as 1.
Tensor tile(const Tensor& x, const Shape& repeats);

// The tensors, all of one shape, one after another along a new axis.
Tensor stack(std::span<const Tensor> tensors, int64_t axis = 0);

// What is written around x: a constant; x mirrored without its border (a b c: c b | a b c | b a);
// its border repeated (a a | a b c | c c); x from its other end (b c | a b c | a b).
enum class PadMode { constant, reflect, edge, wrap };

using PadAmounts = std::vector<std::pair<int64_t, int64_t>>;  // before and after, for each axis

// amounts: one pair from 0 for each axis. `reflect` needs them below the size of the axis, `wrap`
// up to it, `edge` an axis that is not empty.
Tensor pad(const Tensor& x, const PadAmounts& amounts, PadMode mode = PadMode::constant,
           double value = 0);

// The last two axes are rows i and columns j: elements with j - i <= diagonal (tril) or >= diagonal
// (triu) stay, others become 0.
Tensor tril(const Tensor& x, int64_t diagonal = 0);
Tensor triu(const Tensor& x, int64_t diagonal = 0);

}  // namespace plimsoll
