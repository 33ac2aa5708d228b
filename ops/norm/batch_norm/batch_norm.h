// Batch normalisation over all axes but the last (Ioffe and Szegedy, 2015).
//
//   auto [y, mean, variance] = batch_norm(x, gamma, beta);               // x: [N, H, W, C]
//   { NoGrad scope; update_running_stats(running_mean, running_variance, mean, variance, 0.1, R); }
//   Tensor z = batch_norm_inference(x, gamma, beta, running_mean, running_variance);
//
// gamma, beta and all statistics are [C], in f32 (f64 when x is f64) whatever the type of x.
// Errors: ShapeError (not [C]; no elements to average), DTypeError, ValueError (eps below 0).
#pragma once

#include "core/tensor/tensor.h"

namespace plimsoll {

struct BatchNormResult {
  Tensor y;               // gamma (x - mean) / sqrt(variance + eps) + beta, shape and type of x
  Tensor mean, variance;  // of each channel over the R other positions; divided by R, not R - 1.
                          // Not on the tape
};

// Statistics are taken in chunks of rows, by deviations from each chunk's own mean, in f64 (of 16
// bits 128 rows at a time in f32, where deviations above 1e18 overflow), and combined in f64 by
// Chan's formula: a large common offset costs no accuracy. A single position is its own mean and
// gives y = beta (PyTorch refuses it).
BatchNormResult batch_norm(const Tensor& x, const Tensor& gamma, const Tensor& beta,
                           double eps = 1e-5);

// The same with given statistics, as at test time: one pass over memory. Differentiable in all its
// inputs.
Tensor batch_norm_inference(const Tensor& x, const Tensor& gamma, const Tensor& beta,
                            const Tensor& running_mean, const Tensor& running_variance,
                            double eps = 1e-5);

// In place: running = (1 - momentum) running + momentum new, where the new variance is the unbiased
// one, variance * n / (n - 1), and n the number of positions it was taken over (PyTorch's rule).
// Left out when a checkpoint recomputes. ValueError for momentum outside [0, 1] or n < 1.
//
// mean and variance may have a first axis, of several batches with n positions each: they are taken
// one after another, in that order; of them the first `batches` (i64 []) where it is given.
void update_running_stats(const Tensor& running_mean, const Tensor& running_variance,
                          const Tensor& mean, const Tensor& variance, double momentum, int64_t n,
                          const Tensor& batches = {});

}  // namespace plimsoll
