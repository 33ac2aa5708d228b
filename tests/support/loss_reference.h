// What the reference implementations of losses share.
#pragma once

#include <vector>

#include "tests/support/op_case.h"

namespace plimsoll {

// The mean, the sum and the single losses f(x, t) of two inputs of one shape.
template <class F>
std::vector<Array> reduced_losses(const std::vector<Array>& in, const F& f) {
  Array mean, sum, none(in[0].shape);
  for (int64_t i = 0; i < count(none.shape); ++i) {
    none[i] = f(in[0][i], in[1][i]);
    sum[0] += none[i];
  }
  mean[0] = sum[0] / static_cast<double>(count(none.shape));
  return {mean, sum, none};
}

}  // namespace plimsoll
