#include "ops/pointwise/softplus/softplus.h"

#include "ops/common/pointwise.h"
#include "ops/pointwise/softplus/formulas.h"

namespace plimsoll {

using namespace formulas;

Tensor softplus(const Tensor& x) { return apply1(Unary<Softplus>::op, {contiguous(x)}); }

extern const std::vector<const OpDef*> softplus_ops{&Unary<Softplus>::op, &Unary<Softplus>::grad};

}  // namespace plimsoll
