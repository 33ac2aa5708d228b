// The kernels of compare.h on a GPU, named as on the CPU by function objects: std::less<>.
#pragma once

#include <functional>

#include "core/cuda/seam/cuda_kernel.h"
#include "core/engine/op.h"

namespace plimsoll {

template <class F>
PLIMSOLL_CUDA_KERNEL(compare_cuda);

}  // namespace plimsoll
