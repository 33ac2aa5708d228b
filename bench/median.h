// The median of measured values, which a few disturbed measurements do not move.
#pragma once

#include <algorithm>
#include <vector>

namespace plimsoll {

// The upper one of two in the middle. At least one value is needed.
inline double median(std::vector<double> values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::ranges::nth_element(values, middle);
  return *middle;
}

}  // namespace plimsoll
