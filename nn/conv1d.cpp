#include "nn/conv1d.h"

#include "nn/expect.h"
#include "nn/init.h"
#include "ops/pointwise/arithmetic/arithmetic.h"
#include "ops/pointwise/copy/copy.h"

namespace plimsoll::nn {

Conv1d::Conv1d(int64_t in, int64_t out, int64_t kernel, Build& build, const Conv1dOptions& o)
    : in_(in), attrs_{o.stride, o.padding, o.dilation, o.groups} {
  check_positive("conv1d", "channels, kernel and groups", {in, out, kernel, o.groups});
  check_groups("conv1d", in, out, o.groups);
  const Shape shape{out, kernel, in / o.groups};
  const double fan_in = init::fans(shape).in;
  weight_ = add_parameter("weight", init::fan_in_uniform(shape, fan_in, build));
  if (o.bias) bias_ = add_parameter("bias", init::fan_in_uniform({out}, fan_in, build));
}

Tensor Conv1d::forward(const Tensor& x, const Mode&) const {
  check_sequence("conv1d", x, in_);
  return conv1d(x, weight_, bias_, attrs_);
}

ConvTranspose1d::ConvTranspose1d(int64_t in, int64_t out, int64_t kernel, Build& build,
                                 const ConvTranspose1dOptions& o)
    : in_(in), attrs_{o.stride, o.padding, o.output_padding, o.dilation, o.groups} {
  check_positive("conv_transpose1d", "channels, kernel and groups", {in, out, kernel, o.groups});
  check_groups("conv_transpose1d", in, out, o.groups);
  const Shape shape{in, kernel, out / o.groups};
  const double fan_in = init::fans(shape).in;
  weight_ = add_parameter("weight", init::fan_in_uniform(shape, fan_in, build));
  if (o.bias) bias_ = add_parameter("bias", init::fan_in_uniform({out}, fan_in, build));
}

Tensor ConvTranspose1d::forward(const Tensor& x, const Mode&) const {
  check_sequence("conv_transpose1d", x, in_);
  const Tensor y = conv_transpose1d(x, weight_, attrs_);
  return bias_.defined() ? y + cast(bias_, y.dtype()) : y;
}

}  // namespace plimsoll::nn
