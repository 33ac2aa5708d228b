#include "nn/conv.h"

#include "nn/expect.h"
#include "nn/init.h"
#include "ops/conv/conv2d/conv2d.h"
#include "ops/pointwise/arithmetic/arithmetic.h"
#include "ops/pointwise/copy/copy.h"

namespace plimsoll::nn {

Conv2d::Conv2d(int64_t in, int64_t out, Pair kernel, Initializer& init,
               const Conv2dOptions& options)
    : in_(in), options_(options) {
  check_positive("conv2d", "channels, kernel and groups",
                 {in, out, kernel.h, kernel.w, options.groups});
  check_groups("conv2d", in, out, options.groups);
  const Shape shape{out, kernel.h, kernel.w, in / options.groups};
  const double fan_in = init::fans(shape).in;
  weight_ = add_parameter("weight", init::fan_in_uniform(shape, fan_in, init));
  if (options.bias) bias_ = add_parameter("bias", init::fan_in_uniform({out}, fan_in, init));
}

Tensor Conv2d::forward(const Tensor& x, const Mode&) const {
  check_image("conv2d", x, in_);
  return conv2d(x, weight_, bias_,
                {.stride = options_.stride,
                 .padding = options_.padding,
                 .dilation = options_.dilation,
                 .groups = options_.groups});
}

SeparableConv2d::SeparableConv2d(int64_t in, int64_t out, Pair kernel, Initializer& init,
                                 const SeparableConv2dOptions& options)
    : depthwise_(add<Conv2d>("depthwise", in, in * options.multiplier, kernel, init,
                             Conv2dOptions{.stride = options.stride,
                                           .padding = options.padding,
                                           .dilation = options.dilation,
                                           .groups = in,
                                           .bias = false})),
      pointwise_(add<Conv2d>("pointwise", in * options.multiplier, out, 1, init,
                             Conv2dOptions{.bias = options.bias})) {}

Tensor SeparableConv2d::forward(const Tensor& x, const Mode& mode) const {
  return pointwise_(depthwise_(x, mode), mode);
}

ConvTranspose2d::ConvTranspose2d(int64_t in, int64_t out, Pair kernel, Initializer& init,
                                 const ConvTranspose2dOptions& o)
    : in_(in), attrs_{o.stride, o.padding, o.output_padding, o.dilation, o.groups} {
  check_positive("conv_transpose2d", "channels, kernel and groups",
                 {in, out, kernel.h, kernel.w, o.groups});
  check_groups("conv_transpose2d", in, out, o.groups);
  const Shape shape{in, kernel.h, kernel.w, out / o.groups};
  const double fan_in = init::fans(shape).in;
  weight_ = add_parameter("weight", init::fan_in_uniform(shape, fan_in, init));
  if (o.bias) bias_ = add_parameter("bias", init::fan_in_uniform({out}, fan_in, init));
}

Tensor ConvTranspose2d::forward(const Tensor& x, const Mode&) const {
  check_image("conv_transpose2d", x, in_);
  const Tensor y = conv_transpose2d(x, weight_, attrs_);
  return bias_.defined() ? y + cast(bias_, y.dtype()) : y;
}

Conv1d::Conv1d(int64_t in, int64_t out, int64_t kernel, Initializer& init, const Conv1dOptions& o)
    : in_(in), attrs_{o.stride, o.padding, o.dilation, o.groups} {
  check_positive("conv1d", "channels, kernel and groups", {in, out, kernel, o.groups});
  check_groups("conv1d", in, out, o.groups);
  const Shape shape{out, kernel, in / o.groups};
  const double fan_in = init::fans(shape).in;
  weight_ = add_parameter("weight", init::fan_in_uniform(shape, fan_in, init));
  if (o.bias) bias_ = add_parameter("bias", init::fan_in_uniform({out}, fan_in, init));
}

Tensor Conv1d::forward(const Tensor& x, const Mode&) const {
  check_sequence("conv1d", x, in_);
  return conv1d(x, weight_, bias_, attrs_);
}

ConvTranspose1d::ConvTranspose1d(int64_t in, int64_t out, int64_t kernel, Initializer& init,
                                 const ConvTranspose1dOptions& o)
    : in_(in), attrs_{o.stride, o.padding, o.output_padding, o.dilation, o.groups} {
  check_positive("conv_transpose1d", "channels, kernel and groups", {in, out, kernel, o.groups});
  check_groups("conv_transpose1d", in, out, o.groups);
  const Shape shape{in, kernel, out / o.groups};
  const double fan_in = init::fans(shape).in;
  weight_ = add_parameter("weight", init::fan_in_uniform(shape, fan_in, init));
  if (o.bias) bias_ = add_parameter("bias", init::fan_in_uniform({out}, fan_in, init));
}

Tensor ConvTranspose1d::forward(const Tensor& x, const Mode&) const {
  check_sequence("conv_transpose1d", x, in_);
  const Tensor y = conv_transpose1d(x, weight_, attrs_);
  return bias_.defined() ? y + cast(bias_, y.dtype()) : y;
}

}  // namespace plimsoll::nn
