// Which batch norms cuDNN may do, where a clock chooses (core/autotune.h).
#pragma once

#include "core/autotune.h"
#include "core/cuda/norm.h"
#include "ops/batch_norm/kernels.h"

namespace plimsoll::batch_norm_detail {

// What cuDNN is asked for x of batch_norm or batch_norm_relu. Nothing where only our own kernels
// will do: without autotune(), as cuDNN's bits are others, and for x of more than 16 bits, as it
// keeps no tail of the mean (kernels.h). Rounding a mean to f32 changes it by 2^-24 of it at most;
// that of x to 16 bits was 2^-11 or 2^-8.
inline std::optional<cuda::Norm> library_norm(const Meta& x, bool residual, bool relu) {
  if (!autotune() || (x.dtype != DType::f16 && x.dtype != DType::bf16)) return std::nullopt;
  const auto [rows, channels] = rows_of(x.shape);
  return cuda::Norm{
      .dtype = x.dtype, .rows = rows, .channels = channels, .residual = residual, .relu = relu};
}

// batch_norm or batch_norm_relu, by `own`, or the way that was faster (by_library.cu).
void forward_on_cuda(const Call& call, bool relu, void (*own)(const Call& call));

}  // namespace plimsoll::batch_norm_detail
