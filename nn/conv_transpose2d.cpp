#include "nn/conv_transpose2d.h"

#include "nn/expect.h"
#include "nn/init.h"
#include "ops/pointwise/arithmetic/arithmetic.h"
#include "ops/pointwise/copy/copy.h"

namespace plimsoll::nn {

ConvTranspose2d::ConvTranspose2d(int64_t in, int64_t out, Pair kernel, Build& build,
                                 const ConvTranspose2dOptions& o)
    : in_(in), attrs_{o.stride, o.padding, o.output_padding, o.dilation, o.groups} {
  check_positive("conv_transpose2d", "channels, kernel and groups",
                 {in, out, kernel.h, kernel.w, o.groups});
  check_groups("conv_transpose2d", in, out, o.groups);
  const Shape shape{in, kernel.h, kernel.w, out / o.groups};
  const double fan_in = init::fans(shape).in;
  weight_ = add_parameter("weight", init::fan_in_uniform(shape, fan_in, build));
  if (o.bias) bias_ = add_parameter("bias", init::fan_in_uniform({out}, fan_in, build));
}

Tensor ConvTranspose2d::forward(const Tensor& x, const Mode&) const {
  check_image("conv_transpose2d", x, in_);
  const Tensor y = conv_transpose2d(x, weight_, attrs_);
  return bias_.defined() ? y + cast(bias_, y.dtype()) : y;
}

}  // namespace plimsoll::nn
