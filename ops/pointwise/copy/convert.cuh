// convert() of convert.h on a GPU.
#pragma once

#include "core/base/convert.h"
#include "core/cuda/convert.cuh"

namespace plimsoll::cuda {

// With the hardware's rounding to 16 bits. What C holds of narrower types is exact.
template <class To, class C>
__device__ To converted(C value) {
  if constexpr (is_16_bit<To> && std::is_same_v<C, float>)
    return to_memory<To>(value);
  else if constexpr (is_16_bit<To>)
    return to_memory<To>(round_to_odd(static_cast<double>(value)));
  else
    return convert<To>(value);
}

}  // namespace plimsoll::cuda
