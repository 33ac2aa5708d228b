// Single elements between memory and what kernels compute with: f16 and bf16 in float, integers and
// bool in int64_t.
//
//   y[i] = to_memory<Half>(2 * to_register<float>(x[i]));
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "core/base/half.h"

namespace plimsoll::cuda {

// The conversions of the hardware; on the CPU those of core/base/half.h, which round in the same
// way.
#ifdef __CUDA_ARCH__
__device__ inline float widen(Half element) {
  float wide;
  asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(element.bits));
  return wide;
}
__device__ inline float widen(BFloat16 element) {
  return __uint_as_float(static_cast<unsigned>(element.bits) << 16);
}
__device__ inline void narrow_to(Half& element, float wide) {
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(element.bits) : "f"(wide));
}
__device__ inline void narrow_to(BFloat16& element, float wide) {
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(element.bits) : "f"(wide));
}
#else
inline float widen(Half element) { return static_cast<float>(element); }
inline float widen(BFloat16 element) { return static_cast<float>(element); }
inline void narrow_to(Half& element, float wide) { element = Half(wide); }
inline void narrow_to(BFloat16& element, float wide) { element = BFloat16(wide); }
#endif

template <class C, class T>
__device__ C to_register(const T& element) {
  if constexpr (is_16_bit<T>)
    return static_cast<C>(widen(element));
  else
    return static_cast<C>(element);
}

// Rounds to the nearest, ties to even; bool is whether the value is not 0.
template <class T, class C>
__device__ T to_memory(C value) {
  if constexpr (is_16_bit<T>) {
    T element;
    narrow_to(element, static_cast<float>(value));
    return element;
  } else if constexpr (std::is_same_v<T, bool>) {
    return value != 0;
  } else {
    return static_cast<T>(value);
  }
}

}  // namespace plimsoll::cuda
