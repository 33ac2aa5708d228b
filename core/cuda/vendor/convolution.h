// Convolutions by cuDNN, for the kernels of ops/conv/conv2d, whose letters these are: images in
// rows of channels [N, H, W, C], filters [O, KH, KW, C / groups].
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>

#include "core/cuda/vendor/library_plan.h"
#include "core/tensor/value.h"

namespace plimsoll::cuda {

struct Convolution {
  enum class Kind { forward, input_grad, weight_grad } kind = Kind::forward;
  DType dtype = DType::f32;
  int64_t n = 0, h = 0, w = 0, c = 0, o = 0, kh = 0, kw = 0, p = 0, q = 0;
  std::array<int64_t, 2> stride{1, 1}, padding{0, 0}, dilation{1, 1};  // of rows, of columns
  int64_t groups = 1;
  bool bias = false;  // forward only
  bool tf32 = false;  // f32 only: operands may be rounded to TF32
  auto operator<=>(const Convolution&) const = default;
};

// The plan for the device; nothing where cuDNN is missing, or does not do it within kMostScratch
// bytes of workspace. The first call for a convolution asks cuDNN, later ones remember. From any
// thread. This and convolve_by_library() set tf32 themselves: it is what PLIMSOLL_TF32 says.
constexpr int64_t kMostScratch = int64_t{256} << 20;
[[gnu::weak]] std::optional<LibraryPlan> convolution_plan(const Convolution& convolution);

// The same for a device described in JSON, which need not be there. DeviceError without cuDNN.
[[gnu::weak]] std::optional<LibraryPlan> convolution_plan_for(const Convolution& convolution,
                                                              const std::string& description);

// 91900 is 9.19.0. DeviceError without cuDNN.
[[gnu::weak]] int64_t cudnn_version();

// Runs it: x, w, bias if any, y; or dy, w, dx; or x, dy, dw. False: there is no plan, it needs
// more workspace than this, or a tensor does not lie on a boundary of 16 bytes. All these functions
// are null in builds without cuDNN.
[[gnu::weak]] bool convolve_by_library(const Convolution& convolution,
                                       std::span<void* const> tensors,
                                       std::span<std::byte> workspace);

}  // namespace plimsoll::cuda
