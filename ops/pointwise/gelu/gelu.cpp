#include "ops/pointwise/gelu/gelu.h"

#include "ops/common/pointwise.h"
#include "ops/pointwise/gelu/formulas.h"

namespace plimsoll {

using namespace formulas;

Tensor gelu(const Tensor& x) { return apply1(Unary<Gelu>::op, {contiguous(x)}); }
Tensor gelu_tanh(const Tensor& x) { return apply1(Unary<GeluTanh>::op, {contiguous(x)}); }

extern const std::vector<const OpDef*> gelu_ops{&Unary<Gelu>::op, &Unary<Gelu>::grad,
                                                &Unary<GeluTanh>::op, &Unary<GeluTanh>::grad};

}  // namespace plimsoll
