// What the quantise ops of all devices share.
#pragma once

#include <cmath>

#include "ops/common/dynamic_code.h"
#include "ops/quantise/common/format.h"

namespace plimsoll {

// NumericError: among the elements from this one on is a NaN or an infinity.
[[noreturn]] void throw_not_finite(int64_t element);

namespace nf4 {

// bitsandbytes looks scales up in a table of 65,536 places over [-1, 1]: a scale is quantised as
// the place nearest to it is. So the bytes are its.
constexpr float on_grid(float x, float places = 65535) {
  const float from_low = (x < -1 ? -1 : x > 1 ? 1 : x) + 1;
  const double place = static_cast<double>(from_low * 0.5F) * static_cast<double>(places) + 0.5;
  return -1 + 2 * static_cast<float>(static_cast<int32_t>(static_cast<float>(place))) / places;
}

}  // namespace nf4
}  // namespace plimsoll
