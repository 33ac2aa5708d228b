// Strided copies on the device: the twin of core/cpu/copy.h.
#pragma once

#include "core/tensor/value.h"

namespace plimsoll::cuda {

// to = from, element by element: same shape and dtype, any strides.
void copy_strided(const View& from, const View& to);

}  // namespace plimsoll::cuda
