// What an op was applied to in f32, where it lies in 16 bits (OpDef::widens).
//
//   visit_widened<T>(grad.dtype(), [&]<class G>() {                // G: T, or 16 bits for f32
//     T room[64];
//     add(total, widened(grad.as<G>() + i, 64, room), 64);         // for 64 of them
//   });
//
// The same function, not inlined, then computes with what lay in f32 and with what is widened: a
// compiler may round sums of products in another way where the loads are others.
#pragma once

#include "core/base/dtype.h"

namespace plimsoll {

template <class T, class F>
decltype(auto) visit_widened(DType dtype, F&& f) {
  if constexpr (std::is_same_v<T, float>) {
    if (dtype == DType::f16) return f.template operator()<Half>();
    if (dtype == DType::bf16) return f.template operator()<BFloat16>();
  }
  return f.template operator()<T>();
}

// n elements as T: where they lie, or widened in `room`.
template <class T, class G>
const T* widened(const G* from, int64_t n, T* room) {
  if constexpr (std::is_same_v<G, T>) {
    return from;
  } else {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) room[i] = static_cast<T>(from[i]);
    return room;
  }
}

}  // namespace plimsoll
