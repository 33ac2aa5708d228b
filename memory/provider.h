// Provider: where a pool gets its segments from, as data. A new kind of memory is a new pair of
// functions.
//
//   auto pool = std::make_shared<PooledAllocator>(host_provider(), /*limit=*/int64_t{1} << 30);
#pragma once

#include <functional>

#include "core/meta.h"

namespace plimsoll {

struct Provider {
  Device device;
  // `bytes` is a multiple of kGranule, the address too; nullptr when there is no more.
  std::function<void*(int64_t bytes)> acquire;
  std::function<void(void* data, int64_t bytes)> release;
  std::function<int64_t()> available;  // bytes that could be had now
};

// The memory of the process.
Provider host_provider();

// The memory of the GPU. DeviceError by core/cuda.h when the first segment is taken.
Provider cuda_provider();

// Addresses with nothing behind them, all different: for counting what a model would take.
Provider null_provider();

// The one of these for `device`.
Provider provider_of(Device device);

}  // namespace plimsoll
