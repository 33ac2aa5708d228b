#include "ops/relu/relu.h"

#include "ops/relu/formulas.h"
#include "ops/pointwise.h"

namespace plimsoll {

using namespace formulas;

Tensor relu(const Tensor& x) { return apply1(Unary<Relu>::op, {contiguous(x)}); }

extern const std::vector<const OpDef*> relu_ops;
const std::vector<const OpDef*> relu_ops{&Unary<Relu>::op, &Unary<Relu>::grad};

}  // namespace plimsoll
