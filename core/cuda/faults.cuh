// The device's side of faults.h.
#pragma once

#include "core/cuda/faults.h"

namespace plimsoll::cuda {

constexpr uint64_t kNoFault = ~uint64_t{0};

// Positions beyond 2^32 and values beyond 32 bits are cut off: the sentence still finds the kind.
__device__ inline void note_fault(uint64_t* word, int64_t position, int64_t value) {
  const int64_t low = -(int64_t{1} << 31), high = (int64_t{1} << 31) - 1;
  const int64_t kept = value < low ? low : (value > high ? high : value);
  const int64_t place = position < 0xfffffffe ? position : 0xfffffffe;
  atomicMin(reinterpret_cast<unsigned long long*>(word),
            static_cast<unsigned long long>(place) << 32 | static_cast<uint32_t>(kept));
}

}  // namespace plimsoll::cuda
