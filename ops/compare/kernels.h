// The kernels of compare.h on a GPU, named as on the CPU by function objects: std::less<>.
#pragma once

#include <functional>

#include "core/cuda_kernel.h"
#include "core/op.h"

namespace plimsoll {

template <class F>
PLIMSOLL_CUDA_KERNEL(compare_cuda);

}  // namespace plimsoll
