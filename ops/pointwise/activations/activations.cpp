#include "ops/pointwise/activations/activations.h"

#include "ops/common/pointwise.h"
#include "ops/pointwise/activations/formulas.h"

namespace plimsoll {

using namespace formulas;

Tensor leaky_relu(const Tensor& x, double slope) { return unary<LeakyRelu>(x, SlopeAttrs{slope}); }
Tensor elu(const Tensor& x, double alpha) { return unary<Elu>(x, SlopeAttrs{alpha}); }
Tensor selu(const Tensor& x) { return unary<Selu>(x); }
Tensor silu(const Tensor& x) { return unary<Silu>(x); }
Tensor mish(const Tensor& x) { return unary<Mish>(x); }
Tensor hardswish(const Tensor& x) { return unary<Hardswish>(x); }
Tensor hardsigmoid(const Tensor& x) { return unary<Hardsigmoid>(x); }
Tensor log_sigmoid(const Tensor& x) { return unary<LogSigmoid>(x); }

extern const std::vector<const OpDef*> activations_ops{
    &Unary<LeakyRelu>::op,   &Unary<LeakyRelu>::grad,   &Unary<Elu>::op,
    &Unary<Elu>::grad,       &Unary<Selu>::op,          &Unary<Selu>::grad,
    &Unary<Silu>::op,        &Unary<Silu>::grad,        &Unary<Mish>::op,
    &Unary<Mish>::grad,      &Unary<Hardswish>::op,     &Unary<Hardswish>::grad,
    &Unary<Hardsigmoid>::op, &Unary<Hardsigmoid>::grad, &Unary<LogSigmoid>::op,
    &Unary<LogSigmoid>::grad};

}  // namespace plimsoll
