#include "nn/conv.h"

#include "nn/expect.h"
#include "nn/init.h"
#include "ops/conv/conv2d/conv2d.h"

namespace plimsoll::nn {

Conv2d::Conv2d(int64_t in, int64_t out, Pair kernel, Build& build, const Conv2dOptions& options)
    : in_(in), options_(options) {
  check_positive("conv2d", "channels, kernel and groups",
                 {in, out, kernel.h, kernel.w, options.groups});
  check_groups("conv2d", in, out, options.groups);
  const Shape shape{out, kernel.h, kernel.w, in / options.groups};
  const double fan_in = init::fans(shape).in;
  weight_ = add_parameter("weight", init::fan_in_uniform(shape, fan_in, build));
  if (options.bias) bias_ = add_parameter("bias", init::fan_in_uniform({out}, fan_in, build));
}

Tensor Conv2d::forward(const Tensor& x, const Mode&) const {
  check_image("conv2d", x, in_);
  return conv2d(x, weight_, bias_,
                {.stride = options_.stride,
                 .padding = options_.padding,
                 .dilation = options_.dilation,
                 .groups = options_.groups});
}

SeparableConv2d::SeparableConv2d(int64_t in, int64_t out, Pair kernel, Build& build,
                                 const SeparableConv2dOptions& options)
    : depthwise_(add<Conv2d>("depthwise", in, in * options.multiplier, kernel, build,
                             Conv2dOptions{.stride = options.stride,
                                           .padding = options.padding,
                                           .dilation = options.dilation,
                                           .groups = in,
                                           .bias = false})),
      pointwise_(add<Conv2d>("pointwise", in * options.multiplier, out, 1, build,
                             Conv2dOptions{.bias = options.bias})) {}

Tensor SeparableConv2d::forward(const Tensor& x, const Mode& mode) const {
  return pointwise_(depthwise_(x, mode), mode);
}

}  // namespace plimsoll::nn
