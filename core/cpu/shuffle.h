// Two vectors as one sequence, taken apart and put together.
//
//   every_second<0>(x, y)        // x0 x2 x4 ... y0 y2 ...
//   by_turns<0>(x, y)            // x0 y0 x1 y1 ..., and what is left of both by by_turns<1>(x, y)
//   store_two(p, x, y);          // x0 x1 ... y0 y1 ..., as f32, f16 or bf16
#pragma once

#include <bit>
#include <type_traits>
#include <utility>

#include "core/cpu/vector.h"

namespace plimsoll {

template <int first, class V, int... i>
V every_second(V x, V y, std::integer_sequence<int, i...>) {
  return __builtin_shufflevector(x, y, (2 * i + first)...);
}
template <int first, class V>
V every_second(V x, V y) {
  return every_second<first>(x, y, std::make_integer_sequence<int, kLanesOf<V>>());
}

template <int half, class V, int... i>
V by_turns(V x, V y, std::integer_sequence<int, i...>) {
  constexpr int n = sizeof...(i);
  return __builtin_shufflevector(x, y, (half * n / 2 + i / 2 + i % 2 * n)...);
}
template <int half, class V>
V by_turns(V x, V y) {
  return by_turns<half>(x, y, std::make_integer_sequence<int, kLanesOf<V>>());
}

// The upper halves of both are one vector of bfloat16, for which it takes half as many instructions
// as for one at a time.
template <class T, class V>
void store_two(T* p, V first, V second) {
  if constexpr (std::is_same_v<T, BFloat16> && std::is_same_v<V, Vector<float>>) {
    const auto halves = [](V v) {
      return std::bit_cast<Vector<uint16_t>>(rounded_to_bfloat16<Vector<uint32_t>>(v));
    };
    store(p, every_second<1>(halves(first), halves(second)));
  } else {
    store_as(p, first);
    store_as(p + kLanesOf<V>, second);
  }
}

}  // namespace plimsoll
