#include "nn/layers.h"

#include "ops/common/expect.h"

namespace plimsoll::nn {

Tensor GlobalAvgPool::forward(const Tensor& x, const Mode&) const {
  check_defined("global_avg_pool", x);
  return x.rank() == 3 ? mean(x, {1}) : global_avg_pool(x);
}

Tensor Flatten::forward(const Tensor& x, const Mode&) const {
  check_defined("flatten", x);
  check<ShapeError>(x.rank() >= 1, "flatten: the input has no axes: got ", x.shape(),
                    ". Give a batch [N, ...].");
  int64_t width = 1;  // not -1: an empty batch leaves it open
  for (int axis = 1; axis < x.rank(); ++axis) width *= x.size(axis);
  return reshape(x, {x.size(0), width});
}

}  // namespace plimsoll::nn
