// The attributes of nll_loss, for its kernels.
#pragma once

#include "ops/loss/common/reduction.h"

namespace plimsoll {

struct NllAttrs {
  int64_t ignore_index;
  Reduction reduction;
  Meta log_p;  // the gradient does not need its values
  bool operator==(const NllAttrs&) const = default;
};

}  // namespace plimsoll
