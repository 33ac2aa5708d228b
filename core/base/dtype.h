// Element types. f16 and bf16 are storage: 16 bits in memory, computed in f32.
//
//   visit_floating("relu", x.dtype(), [&]<class T>() { run(x.data<T>()); });
#pragma once

#include <cmath>
#include <type_traits>

#include "core/base/error.h"
#include "core/base/half.h"

namespace plimsoll {

enum class DType : uint8_t { f64, f32, f16, bf16, i64, i32, u8, boolean };

int64_t size_of(DType dtype);      // bytes per element
const char* name_of(DType dtype);  // "f32"
bool is_floating(DType dtype);     // f64 f32 f16 bf16
inline void append_text(std::string& out, DType dtype) { out += name_of(dtype); }

// The C++ types of elements. Others have none to stand for: a size_t or a long long is converted.
template <class T>
concept Element = std::is_same_v<T, double> || std::is_same_v<T, float> ||
    std::is_same_v<T, Half> || std::is_same_v<T, BFloat16> || std::is_same_v<T, int64_t> ||
    std::is_same_v<T, int32_t> || std::is_same_v<T, uint8_t> || std::is_same_v<T, bool>;

template <Element T>
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

}  // namespace plimsoll
