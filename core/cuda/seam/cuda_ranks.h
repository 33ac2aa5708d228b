// Ranks whose tensors lie on GPUs, one of them for each: bytes of tensors move by NCCL, everything
// else by the ranks that exist already.
//
//   std::unique_ptr<Ranks> ranks = open_mpi({.timeout = 120});
//   open_on(Device::cuda, 120, ranks);                         // once the device is chosen
#pragma once

#include <memory>

#include "core/ranks/ranks.h"
#include "core/tensor/meta.h"

namespace plimsoll {

// Makes `ranks` move memory of `device` too. Nothing for the CPU and for one rank alone. On a GPU
// all ranks call it, and it opens the device. What NCCL has not done `timeout` seconds after this
// rank was ready for it, ten times as long for its start, the first and the end, ends all ranks
// with exit code 4. DeviceError where NCCL is missing, in a build without it, and when it does not
// start; then `ranks` are what they were.
void open_on(Device device, double timeout, std::unique_ptr<Ranks>& ranks);

// What does so for a GPU, which core/cuda defines.
[[gnu::weak]] void open_nccl_backend(double timeout, std::unique_ptr<Ranks>& ranks);

}  // namespace plimsoll
