// The tree of sum_parts, for kernels of the CPU and of a GPU: where some parts are cut in two.
#pragma once

#include <cstdint>

namespace plimsoll::sum_parts_detail {

// The largest power of two below `parts`, of 2 or more.
constexpr int64_t left_of(int64_t parts) {
  int64_t left = 1;
  while (2 * left < parts) left *= 2;
  return left;
}

}  // namespace plimsoll::sum_parts_detail
