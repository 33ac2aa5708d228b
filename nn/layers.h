// Modules without parameters, for Sequential.
//
//   net.then<nn::MaxPool2d>(2).then<nn::ReLU>().then<nn::Flatten>();
//
// The pools take a window, 2 x 2 unless told otherwise, and options. Images are [N, H, W, C].
#pragma once

#include "nn/module.h"
#include "ops/pointwise/gelu/gelu.h"
#include "ops/pointwise/relu/relu.h"
#include "ops/pool/interpolate/interpolate.h"
#include "ops/pool/pool2d/pool2d.h"
#include "ops/reduction/sum/sum.h"
#include "ops/shape/view/view.h"

namespace plimsoll::nn {

struct PoolOptions {
  Pair stride = 0;  // 0: the window
  Padding padding = 0;
  Pair dilation = 1;
  bool ceil_mode = false;
  bool count_include_pad = true;  // of means
};

inline Pool2dAttrs pool_attrs(Pair window, const PoolOptions& options) {
  return {.window = window,
          .stride = options.stride == Pair(0) ? window : options.stride,
          .padding = options.padding,
          .dilation = options.dilation,
          .ceil_mode = options.ceil_mode,
          .count_include_pad = options.count_include_pad};
}

// [N, H, W, C] -> [N, OH, OW, C], one number of each window: what `pool`, an op, makes of it.
template <Tensor (*pool)(const Tensor&, const Pool2dAttrs&)>
class WindowPool2d : public Module {
 public:
  explicit WindowPool2d(Pair window = 2, const PoolOptions& options = {})
      : attrs_(pool_attrs(window, options)) {}
  Tensor forward(const Tensor& x, const Mode&) const override { return pool(x, attrs_); }

 private:
  Pool2dAttrs attrs_;
};
using MaxPool2d = WindowPool2d<max_pool2d>;  // the largest element
using AvgPool2d = WindowPool2d<avg_pool2d>;  // the mean

// [N, H, W, C] -> [N, OH, OW, C] for any H and W: windows that cover the image evenly.
template <Tensor (*pool)(const Tensor&, Pair)>
class AdaptivePool2d : public Module {
 public:
  explicit AdaptivePool2d(Pair outputs) : outputs_(outputs) {}
  Tensor forward(const Tensor& x, const Mode&) const override { return pool(x, outputs_); }

 private:
  Pair outputs_;
};
using AdaptiveMaxPool2d = AdaptivePool2d<adaptive_max_pool2d>;
using AdaptiveAvgPool2d = AdaptivePool2d<adaptive_avg_pool2d>;

// [N, H, W, C] -> [N, OH, OW, C] by interpolation: nearest neighbours unless told otherwise.
class Upsample : public Module {
 public:
  explicit Upsample(const InterpolateAttrs& attrs) : attrs_(attrs) {}
  Tensor forward(const Tensor& x, const Mode&) const override { return interpolate(x, attrs_); }

 private:
  InterpolateAttrs attrs_;
};

// The mean of each channel: images [N, H, W, C] -> [N, C], sequences [B, T, D] -> [B, D].
class GlobalAvgPool : public Module {
 public:
  Tensor forward(const Tensor& x, const Mode&) const override;
};

// [N, ...] -> [N, the product of the rest]. ShapeError for a scalar.
class Flatten : public Module {
 public:
  Tensor forward(const Tensor& x, const Mode&) const override;
};

class ReLU : public Module {
 public:
  Tensor forward(const Tensor& x, const Mode&) const override { return relu(x); }
};

class GELU : public Module {
 public:
  Tensor forward(const Tensor& x, const Mode&) const override { return gelu(x); }
};

}  // namespace plimsoll::nn
