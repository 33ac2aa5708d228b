// Vectors to compute with, of numbers that memory holds in another type.
//
//   const Vector<float> v = load_as<Vector<float>>(x + i);   // x: f32, f16 or bf16
//   store_as(y + i, v);                                      // rounded to nearest even
//
// With V = T, one number. A loop over the lanes would do, but GCC computes such a loop in halves
// and joins them in memory, where the load of the whole waits for both stores: 6 times as long.
#pragma once

#include "core/base/half.h"
#include "core/cpu/narrow.h"
#include "core/cpu/vector.h"

namespace plimsoll {

template <class V>
struct ScalarOf {
  using type = std::remove_cvref_t<decltype(V{}[0])>;
};
template <>
struct ScalarOf<float> {
  using type = float;
};
template <>
struct ScalarOf<double> {
  using type = double;
};

template <class V>
constexpr int64_t kLanesOf = sizeof(V) / sizeof(typename ScalarOf<V>::type);

// As many T as V has lanes.
template <class T, class V>
struct AlongsideOf {
  typedef T type __attribute__((vector_size(sizeof(T) * kLanesOf<V>)));
};
template <class T, class V>
using Alongside = typename AlongsideOf<T, V>::type;

// The numbers at p.
template <class V, class T>
V load_as(const T* p) {
  using C = typename ScalarOf<V>::type;
  static_assert(sizeof(T) <= sizeof(C), "no type is computed in a narrower one");
  if constexpr (std::is_same_v<T, C>) {
    return load<V>(p);
  } else if constexpr (std::is_same_v<V, C>) {
    return static_cast<C>(*p);
  } else if constexpr (is_16_bit<T>) {
    using Floats = Alongside<float, V>;
    const auto bits =
        __builtin_convertvector(load<Alongside<uint16_t, V>>(p), Alongside<uint32_t, V>);
    if constexpr (std::is_same_v<T, Half>)
      return __builtin_convertvector(float_of_half<Floats>(bits), V);
    else
      return __builtin_convertvector(float_of_bfloat16<Floats>(bits), V);
  } else {
    return __builtin_convertvector(load<Alongside<T, V>>(p), V);
  }
}

// v to where p points.
template <class V, class T>
void store_as(T* p, V v) {
  using C = typename ScalarOf<V>::type;
  static_assert(!is_16_bit<T> || std::is_same_v<C, float>, "f64 would be rounded twice");
  if constexpr (std::is_same_v<T, C>) {
    store(p, v);
  } else if constexpr (std::is_same_v<V, C>) {
    *p = narrow<T>(v);
  } else if constexpr (is_16_bit<T>) {
    using Words = Alongside<uint32_t, V>;
    const Words bits =
        std::is_same_v<T, Half> ? half_of_float<Words>(v) : bfloat16_of_float<Words>(v);
    store(p, __builtin_convertvector(bits, Alongside<uint16_t, V>));
  } else {
    store(p, __builtin_convertvector(v, Alongside<T, V>));
  }
}

}  // namespace plimsoll
