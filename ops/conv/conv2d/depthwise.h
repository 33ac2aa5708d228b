// Depthwise convolution: every channel has filters of its own (groups == C), m = O / C of them.
// Vectors run over the channels. The same kernel serves the input gradient, like in dense.h.
#pragma once

#include "core/tensor/value.h"
#include "ops/conv/conv2d/window.h"

namespace plimsoll {

int64_t depthwise_workspace(const ConvSizes& sizes, const Window& win, DType dtype);

// bias: [O], or none where its data is nullptr.
void depthwise_forward_cpu(const ConvSizes& sizes, const View& x, const View& w, const View& bias,
                           const View& y, std::span<std::byte> workspace);

// One part of dx; see window.h.
void depthwise_input_grad_cpu(const ConvSizes& sizes, Pair remainder, const View& dy, const View& w,
                              const View& dx, std::span<std::byte> workspace);

int64_t depthwise_weight_grad_workspace(const ConvSizes& sizes, DType dtype);
void depthwise_weight_grad_cpu(const ConvSizes& sizes, const View& x, const View& dy,
                               const View& dw, std::span<std::byte> workspace);

}  // namespace plimsoll
