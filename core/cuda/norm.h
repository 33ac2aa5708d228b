// Batch norm by cuDNN, with the residual sum and relu that often follow, for the kernels of
// ops/batch_norm: x is [R, C], rows of channels.
#pragma once

#include <compare>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "core/cuda/library_plan.h"
#include "core/dtype.h"

namespace plimsoll::cuda {

struct Norm {
  DType dtype = DType::f16;  // of x, the residual and y; parameters and statistics are f32
  int64_t rows = 0, channels = 0;
  bool residual = false, relu = false;  // a residual is followed by relu
  auto operator<=>(const Norm&) const = default;
};

// The plan for the device; nothing where cuDNN is missing, or does not do it within
// kMostNormScratch bytes of workspace. The first call for a norm asks cuDNN, later ones remember.
// It is cuDNN's first choice: others are not timed, since each takes about a second to compile.
// From any thread.
constexpr int64_t kMostNormScratch = int64_t{4} << 20;
[[gnu::weak]] std::optional<LibraryPlan> norm_plan(const Norm& norm);

// The same for a device described in JSON, which need not be there. DeviceError without cuDNN.
[[gnu::weak]] std::optional<LibraryPlan> norm_plan_for(const Norm& norm,
                                                       const std::string& description);

// What queues it: x, gamma, beta, residual if any, y, mean, inverse standard deviation. The sum and
// relu are made of what was not rounded. Empty: there is no plan, it needs more workspace than
// this, or a tensor does not lie on a boundary of 16 bytes. All these functions are null in builds
// without cuDNN.
[[gnu::weak]] std::function<void()> norm_by_library(const Norm& norm, float eps,
                                                    std::span<void* const> tensors,
                                                    std::span<std::byte> workspace);

}  // namespace plimsoll::cuda
