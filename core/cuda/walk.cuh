// Operands walked together on the device: equal shapes, each with strides of its own. Axes that lie
// one behind another in all operands are merged first, so that dense tensors are one long row.
//
//   const Walk<2> walk(shape, {a.strides, b.strides});          // host
//   const auto at = walk.offsets(i);                            // device: at[0], at[1], elements
#pragma once

#include <array>

#include "core/cuda/launch.cuh"

namespace plimsoll::cuda {

template <size_t N>
struct Walk {
  int rank = 0;                    // of merged axes, innermost first
  int64_t size[kMaxRank] = {};     // of each
  int64_t step[N][kMaxRank] = {};  // of each operand along each axis, in elements; 0 repeats
  int64_t count = 1;

  Walk(const Shape& shape, const std::array<Strides, N>& strides) {
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      if (shape[axis] == 1) continue;
      bool merges = rank > 0;
      for (size_t k = 0; k < N; ++k)
        merges = merges && strides[k][axis] == step[k][rank - 1] * size[rank - 1];
      if (merges) {
        size[rank - 1] *= shape[axis];
      } else {
        size[rank] = shape[axis];
        for (size_t k = 0; k < N; ++k) step[k][rank] = strides[k][axis];
        ++rank;
      }
      count *= shape[axis];
    }
  }

  // Whether the first axis can be walked n elements at once, which lie side by side in every
  // operand or are one and the same element.
  bool in_packs(int64_t n) const {
    bool packs = rank > 0 && size[0] % n == 0;
    for (size_t k = 0; k < N; ++k) {
      packs = packs && (step[k][0] == 0 || step[k][0] == 1);
      for (int axis = 1; axis < rank; ++axis)
        packs = packs && (step[k][0] == 0 || step[k][axis] % n == 0);
    }
    return packs;
  }

  // Where element i of each operand lies.
  __device__ std::array<int64_t, N> offsets(int64_t i) const {
    std::array<int64_t, N> at{};
#pragma unroll 1  // most tensors are one long row: eight copies would only be code
    for (int axis = 0; axis < rank; ++axis) {
      int64_t index = i;
      if (axis < rank - 1) {
        i /= size[axis];
        index -= i * size[axis];
      }
      for (size_t k = 0; k < N; ++k) at[k] += index * step[k][axis];
    }
    return at;
  }
};

}  // namespace plimsoll::cuda
