// Moving tensors between devices.
//
//   Tensor x = to_device(batch.x, Device::cuda);
#pragma once

#include "core/tensor/tensor.h"

namespace plimsoll {

// x itself when it lies on `device`, else a copy there, off the tape, in the current memory class.
// A step cannot move its values: StateError while one is captured, for an undefined tensor and for
// one that is not contiguous; DeviceError for a device that is not there; OutOfMemory.
Tensor to_device(const Tensor& x, Device device);

}  // namespace plimsoll
