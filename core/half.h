// The floating types of 16 bits: storage, computed in f32. No other header of the engine comes
// along: kernels that are compiled at run time read this one too.
//
//   Half h(0.1f);
//   float wide = static_cast<float>(h);   // 0.0999755859
#pragma once

#include <bit>
#include <cstdint>

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
  explicit operator float() const { return std::bit_cast<float>(uint32_t{bits} << 16); }
  explicit operator double() const { return static_cast<float>(*this); }
};

inline Half::Half(float value) {
  const uint32_t word = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (word >> 16) & 0x8000u;
  const uint32_t magnitude = word & 0x7fffffffu;
  uint32_t half;
  if (magnitude >= 0x7f800000u) {  // infinity, or NaN kept quiet with its upper payload
    half = magnitude == 0x7f800000u ? 0x7c00u : 0x7e00u | ((magnitude >> 13) & 0x3ffu);
  } else if (magnitude >= 0x477ff000u) {  // 65520 and up rounds to infinity
    half = 0x7c00u;
  } else if (magnitude < 0x38800000u) {  // subnormal or zero: let the adder of f32 round it
    const float aligned = std::bit_cast<float>(magnitude) + 0.5f;
    half = std::bit_cast<uint32_t>(aligned) - 0x3f000000u;
  } else {  // normal: rebias the exponent by 15 - 127, round half to even
    half = (magnitude + 0xc8000fffu + ((magnitude >> 13) & 1u)) >> 13;
  }
  bits = static_cast<uint16_t>(sign | half);
}

inline Half::operator float() const {
  const uint32_t sign = (uint32_t{bits} & 0x8000u) << 16;
  const uint32_t magnitude = (uint32_t{bits} & 0x7fffu) << 13;
  uint32_t word;
  if (magnitude >= 0x0f800000u) {  // infinity or NaN
    word = magnitude + 0x70000000u;
  } else if (magnitude >= 0x00800000u) {  // normal
    word = magnitude + 0x38000000u;
  } else {  // subnormal: normalised by one subtraction in f32
    word = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude + 0x38800000u) -
                                   std::bit_cast<float>(0x38800000u));
  }
  return std::bit_cast<float>(sign | word);
}

inline BFloat16::BFloat16(float value) {
  const uint32_t word = std::bit_cast<uint32_t>(value);
  const bool nan = (word & 0x7fffffffu) > 0x7f800000u;
  bits = static_cast<uint16_t>(nan ? (word >> 16) | 0x40u
                                   : (word + 0x7fffu + ((word >> 16) & 1u)) >> 16);
}

}  // namespace plimsoll
