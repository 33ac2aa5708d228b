// One element from any type to any other, as cast() and full() do it.
//
//   convert<uint8_t>(300.7f)           // 255
//   convert<Half>(0.1)                 // rounded once, to nearest even
#pragma once

#include <cmath>
#include <limits>
#include <type_traits>

#include "core/base/half.h"

namespace plimsoll {

// x in f32 such that rounding it again to 16 bits gives what rounding x itself would: cut towards
// zero, with the last bit set where anything was lost (round to odd). Rounding to nearest twice
// would turn 1 + 2^-11 + 2^-40 into the tie 1 + 2^-11, and then into 1 instead of 1 + 2^-10.
constexpr float round_to_odd(double x) {
  const float nearest = static_cast<float>(x);
  if (nearest == x || x != x) return nearest;
  const uint32_t word = std::bit_cast<uint32_t>(nearest);
  const uint32_t cut = word - (std::abs(static_cast<double>(nearest)) > std::abs(x) ? 1 : 0);
  return std::bit_cast<float>(cut | 1u);
}

// Among floating types: to nearest even. To an integer: towards zero, a value that does not fit
// becomes the nearest that does, NaN becomes 0. To bool: true unless zero (so NaN is true).
template <class To, class From>
constexpr To convert(From from) {
  if constexpr (is_16_bit<From>) {
    return convert<To>(static_cast<float>(from));
  } else if constexpr (std::is_same_v<To, bool>) {
    return from != 0;
  } else if constexpr (is_16_bit<To> && std::is_same_v<From, float>) {
    return To(from);
  } else if constexpr (is_16_bit<To>) {
    return To(round_to_odd(static_cast<double>(from)));
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    // 2^63 is a float, the largest int64 is not: compare with >= against the first that is too big.
    using Limits = std::numeric_limits<To>;
    const auto above = static_cast<From>(uint64_t{1} << Limits::digits);
    if (!(from == from)) return 0;
    if (from >= above) return Limits::max();
    if (from < static_cast<From>(Limits::min())) return Limits::min();
    return static_cast<To>(from);
  } else if constexpr (std::is_integral_v<To> && sizeof(From) > sizeof(To)) {
    using Limits = std::numeric_limits<To>;
    if (from > From{Limits::max()}) return Limits::max();
    if (from < From{Limits::min()}) return Limits::min();
    return static_cast<To>(from);
  } else {
    return static_cast<To>(from);
  }
}

}  // namespace plimsoll
