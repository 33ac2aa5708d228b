// Variances and standard deviations over axes.
//
//   Tensor v = variance(x, {0, 1});                           // [N, T, D] -> [D], over N T - 1
//   Tensor s = stddev(x, {-1}, Keep::ones, {.correction = 0});   // [N, D] -> [N, 1], over D
#pragma once

#include "ops/reduction/sum/sum.h"

namespace plimsoll {

struct VarianceOptions {
  double correction = 1;  // Bessel's; 0 for the variance of the elements themselves
};

// sum (x - mean)^2 / max(0, n - correction) over the n elements along the axes, and its root. The
// mean is subtracted first, in f64: a large common offset costs no accuracy. Where n does not
// exceed the correction the result is NaN, or infinite. The gradient of a deviation of 0 is 0, as
// in PyTorch. Errors: DTypeError for integers, ShapeError when an axis does not exist or is named
// twice.
Tensor variance(const Tensor& x, const Shape& axes, Keep keep = Keep::none,
                const VarianceOptions& options = {});
Tensor stddev(const Tensor& x, const Shape& axes, Keep keep = Keep::none,
              const VarianceOptions& options = {});

}  // namespace plimsoll
