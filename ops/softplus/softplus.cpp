#include "ops/softplus/softplus.h"

#include "ops/softplus/formulas.h"
#include "ops/pointwise.h"

namespace plimsoll {

using namespace formulas;

Tensor softplus(const Tensor& x) { return apply1(Unary<Softplus>::op, {contiguous(x)}); }

extern const std::vector<const OpDef*> softplus_ops;
const std::vector<const OpDef*> softplus_ops{&Unary<Softplus>::op, &Unary<Softplus>::grad};

}  // namespace plimsoll
