// Looks for NaN and infinity.
#pragma once

#include "core/tensor/value.h"

namespace plimsoll {

// True when every element of a contiguous view is finite; integers always are.
bool all_finite(const View& view);

}  // namespace plimsoll
