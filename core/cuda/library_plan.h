// What a vendor's library chose for an operation, for kernels that need not know the library.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "core/cuda/tuning.h"

namespace plimsoll::cuda {

struct LibraryPlan {
  int64_t engine, workspace;  // the library's number of the algorithm; bytes
};

// How long each of these plans takes, for tests that know it.
using PlanClock = std::function<Times(std::span<const LibraryPlan> candidates)>;

// "cuDNN 91900"; empty where it cannot be had. Null in builds without it.
[[gnu::weak]] std::string plan_library();

}  // namespace plimsoll::cuda
