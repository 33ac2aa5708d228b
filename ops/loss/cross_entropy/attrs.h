// What the kernels of cross_entropy are told, and what they keep for its gradient.
#pragma once

#include "ops/loss/common/reduction.h"

namespace plimsoll {

struct CrossEntropyAttrs {
  int64_t ignore_index;
  double label_smoothing;
  Reduction reduction;
  bool operator==(const CrossEntropyAttrs&) const = default;
};

// z = log(sum_c exp(x_c)) in two parts, a pair of which the tape keeps for each row. Their sum
// would have forgotten the logarithm where logits are large: from 1e9 on in f32, from 1e17 on in
// f64.
template <class C>
struct LogSum {
  C highest, log_total;  // the largest x; log(sum_c exp(x_c - highest))
};

}  // namespace plimsoll
