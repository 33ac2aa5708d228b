// Vectors of the machine's own width, for the innermost loops of products and convolutions, whose
// sums must stay in registers. They are GCC's and Clang's (__attribute__((vector_size))), which
// become whatever instructions the target has; a plain T serves as a vector of one.
//
//   Vector<float> sum = {};
//   sum += a * load<Vector<float>>(p);                 // a fused multiply-add where there is one
//
// Memory may hold the numbers in another type than one computes with:
//
//   const Vector<float> v = load_as<Vector<float>>(x + i);   // x: f32, f16 or bf16
//   store_as(y + i, v);                                      // rounded to nearest even
//   z[i] = narrow<BFloat16>(sum);                            // one number
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "core/base/half.h"

namespace plimsoll {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64, kBlockRows = 12;  // 12 x 2 sums in 32 registers
#elif defined(__AVX__)
constexpr int kVectorBytes = 32, kBlockRows = 6;  // 6 x 2 sums in 16 registers
#else
constexpr int kVectorBytes = 16, kBlockRows = 6;
#endif
template <class T>
constexpr int64_t kLanes = kVectorBytes / sizeof(T);
template <class T>
constexpr int64_t kBlockColumns = 2 * kLanes<T>;  // a block of sums is two vectors wide

template <class T>
struct VectorOf {
  typedef T type __attribute__((vector_size(kVectorBytes)));
};
template <class T>
using Vector = typename VectorOf<T>::type;

// Vectors in memory may lie anywhere.
template <class V, class T>
V load(const T* p) {
  V v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <class V, class T>
void store(T* p, V v) {
  std::memcpy(static_cast<void*>(p), &v, sizeof v);
}

// Rounds a computed value to the type that stores it. It is a function because a struct (f16, bf16)
// made in the body of a simd loop itself keeps GCC from vectorising the loop.
template <class To, class From>
To narrow(From x) {
  return static_cast<To>(x);
}

// Calls f.template operator()<n>() for the n in 1 ... Max that is given.
template <int Max, class F>
void with_count(int64_t n, F&& f) {
  if constexpr (Max > 0) {
    if (n == Max)
      f.template operator()<Max>();
    else
      with_count<Max - 1>(n, f);
  }
}

// ---- loads and stores that convert
//
// With V = T they take one number. A loop over the lanes would do, but GCC computes such a loop in
// halves and joins them in memory, where the load of the whole waits for both stores: 6 times as
// long.

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

// v where the condition holds, 0 elsewhere. Of one number, too, without a branch: a product before
// it and a sum after it would not become one multiply-add, which rounds once.
template <class Condition, class V>
V zero_unless(Condition condition, V v) {
  if constexpr (std::is_arithmetic_v<V>) {
    using Word = std::conditional_t<sizeof(V) == 4, uint32_t, uint64_t>;
    return std::bit_cast<V>(std::bit_cast<Word>(v) & -Word{condition});
  } else {
    return condition ? v : V{};
  }
}

template <class V>
constexpr int64_t kLanesOf = sizeof(V) / sizeof(typename ScalarOf<V>::type);

// As many T as V has lanes.
template <class T, class V>
struct AlongsideOf {
  typedef T type __attribute__((vector_size(sizeof(T) * kLanesOf<V>)));
};
template <class T, class V>
using Alongside = typename AlongsideOf<T, V>::type;

// Lanes of 16 bits as words, or of f32 as f64. GCC converts vectors in halves, too, and joins them
// in registers, which takes four times as many instructions: the one for all is written as text.
template <class To, class From>
To widen_lanes(From from) {
#if defined(__AVX2__)
  if constexpr (sizeof(To) >= 32) {
    To to;
    if constexpr (sizeof(from[0]) == 2)
      asm("vpmovzxwd %1, %0" : "=v"(to) : "v"(from));
    else
      asm("vcvtps2pd %1, %0" : "=v"(to) : "v"(from));
    return to;
  }
#endif
  return __builtin_convertvector(from, To);
}

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
    const auto bits = widen_lanes<Alongside<uint32_t, V>>(load<Alongside<uint16_t, V>>(p));
    Floats floats;
    if constexpr (std::is_same_v<T, Half>)
      floats = float_of_half<Floats>(bits);
    else
      floats = float_of_bfloat16<Floats>(bits);
    if constexpr (std::is_same_v<C, float>)
      return floats;
    else
      return widen_lanes<V>(floats);
  } else {
    return widen_lanes<V>(load<Alongside<T, V>>(p));
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
