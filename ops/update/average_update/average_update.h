// A running mean, moved towards the newest value, in place.
//
//   average_update(mean, x, step, lr, {.keep = 0.95});      // mean += 0.05 (x - mean)
#pragma once

#include "core/tensor/tensor.h"

namespace plimsoll {

struct AverageUpdate {
  double keep = 0.9;  // of what the mean is; 0 <= keep < 1
  bool operator==(const AverageUpdate&) const = default;
};

// mean += (1 - keep) (x - mean). Both are alike; step and lr are those of every update
// (ops/common/update.h) and are not read. Where skip (bool []; undefined: false) is true, nothing
// changes. Errors: ShapeError, DTypeError, ValueError for another `keep`; StateError as for every
// op that writes in place.
void average_update(const Tensor& mean, const Tensor& x, const Tensor& step, const Tensor& lr,
                    const AverageUpdate& options, const Tensor& skip = {});

// ValueError, in the name of `op`.
void check_options(const char* op, const AverageUpdate& options);

}  // namespace plimsoll
