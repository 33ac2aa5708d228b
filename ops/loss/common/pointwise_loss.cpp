#include "ops/loss/common/pointwise_loss.h"

#include "ops/common/expect.h"

namespace plimsoll {

void check_loss(const char* name, const Meta& x, const Meta& target) {
  check_floating(name, x);
  check<DTypeError>(x.dtype == target.dtype, name, ": the types differ: ", x.dtype, " and ",
                    target.dtype, ". Cast one of them.");
  check<ShapeError>(x.shape == target.shape, name, ": the shapes differ: ", x.shape, " and ",
                    target.shape, ". Give one target for each prediction.");
}

}  // namespace plimsoll
