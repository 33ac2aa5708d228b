#include "ops/pointwise/glu/glu.h"

#include "core/engine/op.h"
#include "ops/common/expect.h"
#include "ops/pointwise/activations/activations.h"
#include "ops/pointwise/arithmetic/arithmetic.h"
#include "ops/pointwise/math/math.h"
#include "ops/shape/view/view.h"

namespace plimsoll {
namespace {

std::pair<Tensor, Tensor> halves(const char* op, const Tensor& x, int64_t axis) {
  check_defined(op, x);
  const int along = normal_axis(op, axis, x.rank());
  const int64_t size = x.size(along);
  check<ShapeError>(size % 2 == 0, op, ": axis ", along, " of ", x.shape(),
                    " has no two equal halves. Give it an even size.");
  return {slice(x, along, 0, size / 2), slice(x, along, size / 2, size)};
}

}  // namespace

Tensor glu(const Tensor& x, int64_t axis) {
  const auto [a, b] = halves("glu", x, axis);
  return a * sigmoid(b);
}

Tensor swiglu(const Tensor& x, int64_t axis) {
  const auto [a, b] = halves("swiglu", x, axis);
  return silu(a) * b;
}

extern const std::vector<const OpDef*> glu_ops{};  // compositions: no op of their own

}  // namespace plimsoll
