// Convolutions over images [N, H, W, C], filters [O, KH, KW, I / groups].
//
//   nn::Conv2d conv(3, 64, 3, build, {.padding = 1});              // [N, H, W, 3] -> [N, H, W, 64]
//   nn::SeparableConv2d sep(3, 32, 3, build, {.padding = 1});      // far fewer multiplications
//
// `kernel`, `stride`, `padding` and `dilation` are one number or {height, width}; `padding` may
// also be {top, bottom, left, right}. Weights and biases start from U(-b, b),
// b = 1 / sqrt(KH KW I / groups). Errors: ValueError for sizes below 1 or channels that groups do
// not divide, ShapeError for an x of another number of channels.
#pragma once

#include "nn/module.h"
#include "ops/common/padding.h"

namespace plimsoll::nn {

struct Conv2dOptions {
  Pair stride = 1;
  Padding padding = 0;
  Pair dilation = 1;
  int64_t groups = 1;
  bool bias = true;
};

class Conv2d : public Module {
 public:
  Conv2d(int64_t in, int64_t out, Pair kernel, Build& build, const Conv2dOptions& options = {});
  Tensor forward(const Tensor& x, const Mode& mode) const override;

 private:
  int64_t in_;
  Conv2dOptions options_;
  Tensor weight_, bias_;
};

struct SeparableConv2dOptions {
  Pair stride = 1;
  Padding padding = 0;
  Pair dilation = 1;
  int64_t multiplier = 1;  // filters per input channel
  bool bias = true;
};

// Keras' SeparableConv2D (Chollet, "Xception", 2017): each input channel is convolved alone with
// `multiplier` k x k filters, then a 1 x 1 convolution mixes the channels. Nothing lies between the
// two, and one bias follows at the end. Children: depthwise, pointwise.
class SeparableConv2d : public Module {
 public:
  SeparableConv2d(int64_t in, int64_t out, Pair kernel, Build& build,
                  const SeparableConv2dOptions& options = {});
  Tensor forward(const Tensor& x, const Mode& mode) const override;

 private:
  const Conv2d &depthwise_, &pointwise_;
};

}  // namespace plimsoll::nn
