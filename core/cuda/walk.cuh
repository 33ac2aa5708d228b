// Operands walked together on the device: equal shapes, each with strides of its own. Axes that lie
// one behind another in all operands are merged first, so that dense tensors are one long row.
//
//   const Walk<2> walk(shape, {a.strides, b.strides});          // host
//   const auto at = walk.offsets(i);                            // device: at[0], at[1], elements
#pragma once

#include <array>

#include "core/cuda/launch.cuh"

namespace plimsoll::cuda {

// Division by a number known before the kernel runs: multiplication by its reciprocal
// (Granlund and Montgomery, "Division by Invariant Integers using Multiplication", PLDI 1994).
// For dividends below 2^31.
class Divisor {
 public:
  Divisor() = default;
  explicit Divisor(uint32_t d) : divisor_(d) {
    while (shift_ < 32 && (uint64_t{1} << shift_) < d) ++shift_;
    const uint64_t power = uint64_t{1} << 32;
    multiplier_ = static_cast<uint32_t>(power * ((uint64_t{1} << shift_) - d) / d + 1);
  }
  __device__ uint32_t quotient(uint32_t n) const {
#ifdef __CUDA_ARCH__
    const uint32_t high = __umulhi(n, multiplier_);
#else
    const auto high = static_cast<uint32_t>(uint64_t{n} * multiplier_ >> 32);
#endif
    return (high + n) >> shift_;
  }
  __device__ uint32_t operator()() const { return divisor_; }

 private:
  uint32_t divisor_ = 1, multiplier_ = 1, shift_ = 0;
};

template <size_t N>
struct Walk {
  int rank = 0;                    // of merged axes, innermost first
  int64_t size[kMaxRank] = {};     // of each
  Divisor divisor[kMaxRank] = {};  // by it, where it fits
  int64_t step[N][kMaxRank] = {};  // of each operand along each axis, in elements; 0 repeats
  int64_t count = 1;
  bool small = true;  // all numbers fit the fast division

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
    small = count < (int64_t{1} << 31);
    for (int axis = 0; axis < rank && small; ++axis)
      divisor[axis] = Divisor(static_cast<uint32_t>(size[axis]));
  }

  // The number of elements that may be moved as one in every operand, 1 or `most`: along the
  // innermost axis they lie side by side, or are all the same one.
  int together(int most, std::span<const View* const> views) const {
    if (rank > 0 && size[0] % most != 0) return 1;
    for (size_t k = 0; k < N; ++k) {
      if (rank == 0 || step[k][0] == 0) continue;
      if (step[k][0] != 1) return 1;
      const int64_t bytes = most * size_of(views[k]->dtype());
      if (reinterpret_cast<uintptr_t>(views[k]->data) % static_cast<uintptr_t>(bytes) != 0)
        return 1;
      for (int axis = 1; axis < rank; ++axis)
        if (step[k][axis] % most != 0) return 1;
    }
    return rank == 0 ? 1 : most;
  }

  // Where element i of each operand lies.
  __device__ std::array<int64_t, N> offsets(int64_t i) const {
    std::array<int64_t, N> at{};
#pragma unroll 1  // most tensors are one long row: eight copies would only be code
    for (int axis = 0; axis < rank; ++axis) {
      int64_t index = i;
      if (axis < rank - 1) {
        i = small ? divisor[axis].quotient(static_cast<uint32_t>(i)) : i / size[axis];
        index -= i * size[axis];
      }
      for (size_t k = 0; k < N; ++k) at[k] += index * step[k][axis];
    }
    return at;
  }
};

}  // namespace plimsoll::cuda
