// Batch normalisation with what often follows it, as one op: a residual sum and relu.
//
//   auto [y, mean, variance] = batch_norm_relu(x, gamma, beta);             // relu(batch_norm(x))
//   auto [y, mean, variance] = batch_norm_relu(x, gamma, beta, residual);   // relu(... + residual)
//
// The same bits as the ops by themselves, in fewer passes over memory. A captured step runs it
// where it finds them (docs/fusion.md). The gradient is taken from y, as that of relu: no mask is
// kept.
// Errors: those of batch_norm (batch_norm.h); ShapeError or DTypeError for a residual unlike x.
#pragma once

#include "ops/batch_norm/batch_norm.h"

namespace plimsoll {

// y = relu(gamma (x - mean) / sqrt(variance + eps) + beta + residual), shape and type of x, which
// the residual has too; an undefined one is left out.
BatchNormResult batch_norm_relu(const Tensor& x, const Tensor& gamma, const Tensor& beta,
                                const Tensor& residual = {}, double eps = 1e-5);

}  // namespace plimsoll
