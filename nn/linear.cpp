#include "nn/linear.h"

#include "nn/expect.h"
#include "nn/init.h"
#include "ops/matmul/linear/linear.h"

namespace plimsoll::nn {

Linear::Linear(int64_t in, int64_t out, Initializer& init, const LinearOptions& options) {
  check_positive("linear", "widths", {in, out});
  const auto fan_in = static_cast<double>(in);
  weight_ = add_parameter("weight", init::fan_in_uniform({out, in}, fan_in, init));
  if (options.bias) bias_ = add_parameter("bias", init::fan_in_uniform({out}, fan_in, init));
}

Tensor Linear::forward(const Tensor& x, const Mode&) const {
  check_width("linear", x, weight_.size(1));
  return linear(x, weight_, bias_);
}

}  // namespace plimsoll::nn
