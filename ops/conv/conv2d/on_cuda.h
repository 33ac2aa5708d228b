// What the ops of conv2d.cpp and their kernels on a GPU share: sizes, and scratch.
#pragma once

#include "core/cuda/product.h"
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

// A depthwise weight gradient sums over all windows: in so many parts of their own, added in order.
struct DepthwiseParts {
  int64_t parts, windows;  // of a part

  explicit DepthwiseParts(const ConvSizes& s) {
    constexpr int64_t kThreadsOfAGpu = int64_t{264} * 256, kFewest = 64;
    const int64_t all = s.n * s.p * s.q, weights = std::max<int64_t>(1, s.o * s.taps());
    parts = std::max<int64_t>(1, std::min(kThreadsOfAGpu / weights, all / kFewest));
    windows = (all + parts - 1) / parts;
  }
};

// As cuDNN is asked. Depthwise ones it is not: their kernels here are the faster ones.
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

// Workspaces: enough for cuDNN's plan and for the product of conv2d.cu that takes its place.
inline int64_t with_library(const cuda::Convolution& convolution, int64_t own) {
  if (!cuda::convolution_plan) return own;
  const auto plan = cuda::convolution_plan(convolution);
  return plan ? std::max(own, plan->workspace) : own;
}
inline int64_t conv2d_cuda_bytes(const ConvSizes& s, DType dtype, bool bias) {
  if (s.depthwise()) return 0;
  return with_library(library_convolution(s, cuda::Convolution::Kind::forward, dtype, bias),
                      cuda::own_product_bytes(s.groups, s.n * s.p * s.q, s.group_outputs(),
                                              s.taps() * s.group_inputs(), dtype));
}
inline int64_t conv2d_input_grad_cuda_bytes(const ConvSizes& s, DType dtype) {
  if (s.depthwise()) return 0;
  return with_library(library_convolution(s, cuda::Convolution::Kind::input_grad, dtype),
                      cuda::own_product_bytes(s.groups, s.n * s.h * s.w, s.group_inputs(),
                                              s.taps() * s.group_outputs(), dtype));
}
inline int64_t conv2d_weight_grad_cuda_bytes(const ConvSizes& s, DType dtype) {
  if (s.depthwise())
    return DepthwiseParts(s).parts * s.o * s.taps() * (dtype == DType::f64 ? 8 : 4);
  return with_library(library_convolution(s, cuda::Convolution::Kind::weight_grad, dtype),
                      cuda::own_product_bytes(s.groups, s.group_outputs(),
                                              s.taps() * s.group_inputs(), s.n * s.p * s.q, dtype));
}

}  // namespace plimsoll
