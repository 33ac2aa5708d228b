// Random tensors, to start parameters from.
//
//   Keys keys(seed);                                  // core/base/philox.h
//   Tensor w = normal({256, 128}, 0, 0.02, keys.next());
//   Tensor b = uniform({256}, -0.1, 0.1, keys.next());
//
// Each element is a function of the key and its place in row-major order: not of the number of
// threads, and not of the dtype, in which the value drawn in double is only rounded. Inside a
// captured step the key is a constant, so every replay draws the same.
#pragma once

#include "ops/random/full/full.h"

namespace plimsoll {

// Uniform in [low, high), from 24 random bits; rounding to the dtype may reach `high`. ValueError
// unless low <= high and both and their difference are finite; DTypeError for integers; ShapeError.
Tensor uniform(const Shape& shape, double low, double high, uint64_t key, Placement placement = {});

// Normal, by Box and Muller (1958) from two words of 32 random bits: |y - mean| <= 6.7 std.
// ValueError unless std >= 0 and both are finite; DTypeError for integers; ShapeError.
Tensor normal(const Shape& shape, double mean, double std, uint64_t key, Placement placement = {});

}  // namespace plimsoll
