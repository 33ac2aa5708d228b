// Four random numbers from four random words, for the kernels of all devices.
#pragma once

#include <cmath>
#include <numbers>

#include "core/base/philox.h"
#include "core/tensor/meta.h"

namespace plimsoll::random_detail {

struct RandomAttrs {
  Meta meta;
  double a, b;  // low, high or mean, std
  uint64_t key;
  bool operator==(const RandomAttrs&) const = default;
};

using Words = std::array<uint32_t, 4>;
using Four = std::array<double, 4>;

struct FourUniform {
  static constexpr Four four(const Words& words, double low, double high) {
    Four y{};
    for (int k = 0; k < 4; ++k)
      y[k] = low + (high - low) * static_cast<double>(unit_float(words[k]));
    return y;
  }
};

// Two uniform numbers, one in (0, 1], make two normal ones: the radius and the angle of a point.
struct FourNormal {
  static constexpr Four four(const Words& words, double mean, double std) {
    Four y{};
    for (int k = 0; k < 4; k += 2) {
      const double radius = std::sqrt(-2 * std::log((words[k] + 1.0) * 0x1p-32));
      const double angle = 2 * std::numbers::pi * words[k + 1] * 0x1p-32;
      y[k] = mean + std * radius * std::cos(angle);
      y[k + 1] = mean + std * radius * std::sin(angle);
    }
    return y;
  }
};

}  // namespace plimsoll::random_detail
