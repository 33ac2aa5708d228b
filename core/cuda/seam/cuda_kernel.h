// PLIMSOLL_CUDA_KERNEL(relu_cuda); declares the CUDA kernel of an op, which the CUDA half defines.
// Its address is null in builds without CUDA, and dispatch says so (kernel_for,
// core/engine/apply.h).
#pragma once

#include "core/engine/call.h"

#define PLIMSOLL_CUDA_KERNEL(name) [[gnu::weak]] void name(const Call&)
