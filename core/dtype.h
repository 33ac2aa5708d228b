// Element types. f16 and bf16 are storage: 16 bits in memory, computed in f32.
//
//   visit_floating("relu", x.dtype(), [&]<class T>() { run(x.data<T>()); });
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "core/error.h"

namespace plimsoll {

enum class DType : uint8_t { f64, f32, f16, bf16, i64, i32, u8, boolean };

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

int64_t size_of(DType dtype);      // bytes per element
const char* name_of(DType dtype);  // "f32"
bool is_floating(DType dtype);     // f64 f32 f16 bf16
inline void append_text(std::string& out, DType dtype) { out += name_of(dtype); }

template <class T>
constexpr DType dtype_of = DType::f32;
template <>
inline constexpr DType dtype_of<double> = DType::f64;
template <>
inline constexpr DType dtype_of<Half> = DType::f16;
template <>
inline constexpr DType dtype_of<BFloat16> = DType::bf16;
template <>
inline constexpr DType dtype_of<int64_t> = DType::i64;
template <>
inline constexpr DType dtype_of<int32_t> = DType::i32;
template <>
inline constexpr DType dtype_of<uint8_t> = DType::u8;
template <>
inline constexpr DType dtype_of<bool> = DType::boolean;

// The type a kernel computes in: double for double, float for f32 and both 16-bit types.
template <class T>
using Compute = std::conditional_t<std::is_same_v<T, double>, double, float>;

// Calls f.template operator()<T>() for the C++ type of a floating dtype; refuses all others.
template <class F>
decltype(auto) visit_floating(const char* op, DType dtype, F&& f) {
  switch (dtype) {
    case DType::f64:
      return f.template operator()<double>();
    case DType::f32:
      return f.template operator()<float>();
    case DType::f16:
      return f.template operator()<Half>();
    case DType::bf16:
      return f.template operator()<BFloat16>();
    default:
      fail<DTypeError>(op, ": a floating type is needed: got ", dtype, ". Cast it first.");
  }
}

// The same for every dtype; constexpr, so that kernels for a GPU can call it too.
template <class F>
constexpr decltype(auto) visit_any(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f64:
      return f.template operator()<double>();
    case DType::f32:
      return f.template operator()<float>();
    case DType::f16:
      return f.template operator()<Half>();
    case DType::bf16:
      return f.template operator()<BFloat16>();
    case DType::i64:
      return f.template operator()<int64_t>();
    case DType::i32:
      return f.template operator()<int32_t>();
    case DType::u8:
      return f.template operator()<uint8_t>();
    case DType::boolean:
      break;
  }
  return f.template operator()<bool>();
}

// Calls f.template operator()<T>() for the unsigned integer of so many bytes, 1, 2, 4 or 8: for
// what moves elements, whatever their bits mean.
template <class F>
decltype(auto) visit_width(int64_t bytes, F&& f) {
  switch (bytes) {
    case 8:
      return f.template operator()<uint64_t>();
    case 4:
      return f.template operator()<uint32_t>();
    case 2:
      return f.template operator()<uint16_t>();
    default:
      return f.template operator()<uint8_t>();
  }
}

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
