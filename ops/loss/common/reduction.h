// What becomes of the losses of single elements or rows.
//
//   Tensor loss = mse_loss(x, target, Reduction::sum);
#pragma once

#include "ops/reduction/sum/sum.h"

namespace plimsoll {

enum class Reduction { mean, sum, none };

inline Tensor reduce(const Tensor& losses, Reduction reduction) {
  if (reduction == Reduction::none) return losses;
  return reduction == Reduction::sum ? sum(losses) : mean(losses);
}

}  // namespace plimsoll
