#include "ops/pointwise/relu/relu.h"

#include "ops/common/pointwise.h"
#include "ops/pointwise/relu/formulas.h"

namespace plimsoll {

using formulas::Relu;

Tensor relu(const Tensor& x) { return unary<Relu>(x); }

extern const std::vector<const OpDef*> relu_ops{&Unary<Relu>::op, &Unary<Relu>::grad};

}  // namespace plimsoll
