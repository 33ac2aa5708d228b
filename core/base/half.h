// The floating types of 16 bits: storage, computed in f32. It includes no other header of the
// engine, so that kernels of either device can read it.
//
//   Half h(0.1f);
//   float wide = static_cast<float>(h);   // 0.0999755859
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

namespace plimsoll {

// IEEE 754 binary16. Converts with round-to-nearest-even; overflow becomes infinity.
struct Half {
  uint16_t bits = 0;
  Half() = default;
  explicit Half(float value);
  explicit operator float() const;
  explicit operator double() const { return static_cast<float>(*this); }
};

// The upper half of an f32: same range, 8 bits of precision. Round-to-nearest-even.
struct BFloat16 {
  uint16_t bits = 0;
  BFloat16() = default;
  explicit BFloat16(float value);
  explicit operator float() const;
  explicit operator double() const { return static_cast<float>(*this); }
};

template <class T>
constexpr bool is_16_bit = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

// The largest number that rounds to zero where T holds what S computes.
template <class T, class S>
constexpr S kRoundsToZero = std::is_same_v<T, Half>       ? S(0x1p-25)
                            : std::is_same_v<T, BFloat16> ? S(0x1p-134)
                                                          : S(0);

// The conversions, on the bits of one value (Word: uint32_t, Float: float) or of a vector of them
// (core/cpu/vector.h): all cases are computed, and each value picks its own.

template <class Float, class Word>
Float float_of_half(Word bits) {
  const Word sign = (bits & 0x8000u) << 16, magnitude = (bits & 0x7fffu) << 13;
  const Word special = magnitude + 0x70000000u;  // infinity or NaN
  const Word normal = magnitude + 0x38000000u;
  // Subnormal: normalised by one subtraction in f32.
  const Word small = std::bit_cast<Word>(std::bit_cast<Float>(magnitude + 0x38800000u) - 0x1p-14f);
  const Word word = magnitude < 0x00800000u ? small : (magnitude < 0x0f800000u ? normal : special);
  return std::bit_cast<Float>(sign | word);
}

template <class Word, class Float>
Word half_of_float(Float value) {
  const Word word = std::bit_cast<Word>(value);
  const Word sign = (word >> 16) & 0x8000u, magnitude = word & 0x7fffffffu;
  const Word nan = ((magnitude >> 13) & 0x3ffu) | 0x7e00u;  // kept quiet with its upper payload
  const Word infinity = Word{} + 0x7c00u;
  // Normal: rebias the exponent by 15 - 127, round half to even.
  const Word normal = (magnitude + 0xc8000fffu + ((magnitude >> 13) & 1u)) >> 13;
  // Subnormal or zero: let the adder of f32 round it.
  const Word small = std::bit_cast<Word>(std::bit_cast<Float>(magnitude) + 0.5f) - 0x3f000000u;
  // 65520 and up rounds to infinity.
  const Word finite = magnitude < 0x38800000u ? small : normal;
  const Word half = magnitude < 0x477ff000u ? finite : (magnitude > 0x7f800000u ? nan : infinity);
  return sign | half;
}

template <class Float, class Word>
Float float_of_bfloat16(Word bits) {
  return std::bit_cast<Float>(bits << 16);
}

// The upper half is the bfloat16; NaN stays NaN, quiet.
template <class Word, class Float>
Word rounded_to_bfloat16(Float value) {
  const Word word = std::bit_cast<Word>(value);
  return value == value ? word + (((word >> 16) & 1u) + 0x7fffu) : word | 0x400000u;
}
template <class Word, class Float>
Word bfloat16_of_float(Float value) {
  return rounded_to_bfloat16<Word>(value) >> 16;
}

inline Half::Half(float value) : bits(static_cast<uint16_t>(half_of_float<uint32_t>(value))) {}
inline Half::operator float() const { return float_of_half<float>(uint32_t{bits}); }

inline BFloat16::BFloat16(float value)
    : bits(static_cast<uint16_t>(bfloat16_of_float<uint32_t>(value))) {}
inline BFloat16::operator float() const { return float_of_bfloat16<float>(uint32_t{bits}); }

}  // namespace plimsoll
