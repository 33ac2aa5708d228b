// Cuts a tensor into parts along one axis; the parts are views of it.
//
//   auto [q, k, v] = split_into<3>(qkv, -1);                  // [B, T, 3 D] -> 3 of [B, T, D]
//   std::vector<Tensor> parts = split(x, 1, {1, 2, 3});       // [N, 6] -> [N, 1], [N, 2], [N, 3]
//   std::vector<Tensor> rows = split(x, 0, 4);                // 4 equal parts
//
// One op with several outputs: its gradient is one concat of the parts' gradients, where slices
// would give a tensor of x's size each and add them. A part that nobody used counts as zeros.
#pragma once

#include <array>
#include <initializer_list>
#include <vector>

#include "core/tensor/tensor.h"

namespace plimsoll {

// Parts of the given sizes, any dtype. ShapeError unless they are from 0 and add up to the axis.
std::vector<Tensor> split(const Tensor& x, int64_t axis, const std::vector<int64_t>& sizes);
// A list in braces is sizes, also when it holds only one: {5} would be a number as well.
inline std::vector<Tensor> split(const Tensor& x, int64_t axis,
                                 std::initializer_list<int64_t> sizes) {
  return split(x, axis, std::vector<int64_t>(sizes));
}

// Equal parts. ShapeError unless `parts` is from 1 and divides the axis.
std::vector<Tensor> split(const Tensor& x, int64_t axis, int64_t parts);

// Equal parts, for structured bindings.
template <size_t n>
std::array<Tensor, n> split_into(const Tensor& x, int64_t axis) {
  std::vector<Tensor> parts = split(x, axis, static_cast<int64_t>(n));
  std::array<Tensor, n> result;
  std::move(parts.begin(), parts.end(), result.begin());
  return result;
}

}  // namespace plimsoll
