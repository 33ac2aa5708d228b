// What the tests of published models share: their tensors beside others, and a reference's folder.
#pragma once

#include <cmath>

#include "nn/published/model.h"
#include "tests/data/testing.h"
#include "tests/nn/testing.h"
#include "tests/support/python.h"

namespace plimsoll::published {

// The largest difference, over the largest number of `theirs`.
inline double relative_difference(const Tensor& ours, const Tensor& theirs) {
  const std::vector<double> a = ours.to_vector<double>(), b = theirs.to_vector<double>();
  EXPECT_EQ(ours.shape(), theirs.shape());
  double most = 0, largest = 0;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    most = std::max(most, std::abs(a[i] - b[i]));
    largest = std::max(largest, std::abs(b[i]));
  }
  return a.size() == b.size() && std::isfinite(most) ? most / largest : INFINITY;
}

}  // namespace plimsoll::published
