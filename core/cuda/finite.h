// Looks for NaN and infinity on the device: the twin of core/engine/apply.cpp.
#pragma once

#include "core/tensor/value.h"

namespace plimsoll::cuda {

// True when every element of a contiguous view is finite; integers always are. Waits.
bool all_finite(const View& view);

// Whether this build holds code for the device that is set.
bool has_code_for_device();

}  // namespace plimsoll::cuda
