// What the pointwise losses of ops/loss/common/pointwise_loss.h have in common on all devices.
#pragma once

#include "core/cuda/seam/cuda_kernel.h"
#include "core/engine/op.h"

namespace plimsoll {

struct LossAttrs {
  double parameter;
  bool operator==(const LossAttrs&) const = default;
};

// The kernels of a GPU, defined in ops/loss/common/pointwise_loss.cuh for the formulas that a .cu
// file names.
template <class F>
PLIMSOLL_CUDA_KERNEL(loss_cuda);
template <class F, int number>
PLIMSOLL_CUDA_KERNEL(loss_grad_cuda);

}  // namespace plimsoll
