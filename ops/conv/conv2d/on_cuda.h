// What the ops of conv2d.cpp and their kernels on a GPU share: sizes, and scratch.
#pragma once

#include "core/cuda/vendor/convolution.h"
#include "core/engine/op.h"
#include "ops/conv/conv2d/window.h"

namespace plimsoll {

// Both gradients need one size that their inputs do not tell: {H, W} of x, or {KH, KW} of w.
struct ConvGradAttrs {
  Conv2dAttrs conv;
  Pair size;
  bool operator==(const ConvGradAttrs&) const = default;
};

// The sizes of a call of each op, or the error that says why there are none.
ConvSizes conv2d_sizes(std::span<const Meta> in, const Attrs& attrs);
ConvSizes conv2d_input_grad_sizes(std::span<const Meta> in, const Attrs& attrs);
ConvSizes conv2d_weight_grad_sizes(std::span<const Meta> in, const Attrs& attrs);

// As cuDNN is asked.
inline cuda::Convolution library_convolution(const ConvSizes& s, cuda::Convolution::Kind kind,
                                             DType dtype, bool bias = false) {
  return {.kind = kind,
          .dtype = dtype,
          .n = s.n,
          .h = s.h,
          .w = s.w,
          .c = s.c,
          .o = s.o,
          .kh = s.kh,
          .kw = s.kw,
          .p = s.p,
          .q = s.q,
          .stride = {s.stride.h, s.stride.w},
          .padding = {s.padding.h, s.padding.w},
          .dilation = {s.dilation.h, s.dilation.w},
          .groups = s.groups,
          .bias = bias};
}

// Workspace of cuDNN's plan, if there is one: the kernels of conv2d.cu need none.
inline int64_t conv2d_cuda_bytes(const cuda::Convolution& convolution) {
  if (!cuda::convolution_plan) return 0;
  const auto plan = cuda::convolution_plan(convolution);
  return plan ? plan->workspace : 0;
}

}  // namespace plimsoll
