// Convolutions over images [N, H, W, C] and over sequences [N, L, C], and their transposes.
//
//   nn::Conv2d conv(3, 64, 3, init, {.padding = 1});              // [N, H, W, 3] -> [N, H, W, 64]
//   nn::SeparableConv2d sep(3, 32, 3, init, {.padding = 1});      // far fewer multiplications
//   nn::ConvTranspose2d up(64, 32, 2, init, {.stride = 2});       // doubles H and W
//   nn::Conv1d line(16, 32, 3, init, {.padding = 1});             // [N, L, 16] -> [N, L, 32]
//   nn::Conv1d causal(16, 32, 3, init, {.padding = {2, 0}});      // sees no later place
//   nn::ConvTranspose1d longer(32, 16, 2, init, {.stride = 2});   // [N, L, 32] -> [N, 2 L, 16]
//
// Of images, `kernel`, `stride`, `padding` and `dilation` are one number or {height, width};
// `padding` may also be {top, bottom, left, right}. Filters are [out, KH, KW, in / groups] or
// [out, K, in / groups], and [in, ..., out / groups] of the transposed ones. Weights and biases
// start from U(-b, b), b = 1 / sqrt(all axes of a filter but the first), as in PyTorch. Errors:
// ValueError for sizes below 1 or channels that groups do not divide, ShapeError for an x of
// another number of channels.
#pragma once

#include "nn/module.h"
#include "ops/conv/conv1d/conv1d.h"
#include "ops/conv/conv_transpose2d/conv_transpose2d.h"

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
  Conv2d(int64_t in, int64_t out, Pair kernel, Initializer& init,
         const Conv2dOptions& options = {});
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
  SeparableConv2d(int64_t in, int64_t out, Pair kernel, Initializer& init,
                  const SeparableConv2dOptions& options = {});
  Tensor forward(const Tensor& x, const Mode& mode) const override;

 private:
  const Conv2d &depthwise_, &pointwise_;
};

struct ConvTranspose2dOptions {
  Pair stride = 1;
  Padding padding = 0;
  Pair output_padding = 0;
  Pair dilation = 1;
  int64_t groups = 1;
  bool bias = true;
};

// OH = (H - 1) stride - top - bottom + dilation (KH - 1) + output_padding + 1.
class ConvTranspose2d : public Module {
 public:
  ConvTranspose2d(int64_t in, int64_t out, Pair kernel, Initializer& init,
                  const ConvTranspose2dOptions& options = {});
  Tensor forward(const Tensor& x, const Mode& mode) const override;

 private:
  int64_t in_;
  ConvTranspose2dAttrs attrs_;
  Tensor weight_, bias_;
};

struct Conv1dOptions {
  int64_t stride = 1;
  Sides padding = 0;
  int64_t dilation = 1;
  int64_t groups = 1;
  bool bias = true;
};

class Conv1d : public Module {
 public:
  Conv1d(int64_t in, int64_t out, int64_t kernel, Initializer& init,
         const Conv1dOptions& options = {});
  Tensor forward(const Tensor& x, const Mode& mode) const override;

 private:
  int64_t in_;
  Conv1dAttrs attrs_;
  Tensor weight_, bias_;
};

struct ConvTranspose1dOptions {
  int64_t stride = 1;
  Sides padding = 0;
  int64_t output_padding = 0;
  int64_t dilation = 1;
  int64_t groups = 1;
  bool bias = true;
};

class ConvTranspose1d : public Module {
 public:
  ConvTranspose1d(int64_t in, int64_t out, int64_t kernel, Initializer& init,
                  const ConvTranspose1dOptions& options = {});
  Tensor forward(const Tensor& x, const Mode& mode) const override;

 private:
  int64_t in_;
  ConvTranspose1dAttrs attrs_;
  Tensor weight_, bias_;
};

}  // namespace plimsoll::nn
