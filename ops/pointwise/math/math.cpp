#include "ops/pointwise/math/math.h"

#include "ops/common/pointwise.h"
#include "ops/pointwise/math/formulas.h"

namespace plimsoll {

using namespace formulas;

namespace {

// The derivative is 0 wherever there is one: an undefined gradient says so without a kernel.
constexpr OpDef sign_op{.name = "sign",
                        .infer = Unary<Sign>::infer,
                        .cpu = Unary<Sign>::cpu,
                        .cuda = unary_cuda<Sign>,
                        .vjp = {[](const Backward&) { return std::vector<Tensor>(1); }},
                        .inplace = 0};

}  // namespace

Tensor exp(const Tensor& x) { return unary<Exp>(x); }
Tensor log(const Tensor& x) { return unary<Log>(x); }
Tensor sqrt(const Tensor& x) { return unary<Sqrt>(x); }
Tensor rsqrt(const Tensor& x) { return unary<Rsqrt>(x); }
Tensor square(const Tensor& x) { return unary<Square>(x); }
Tensor tanh(const Tensor& x) { return unary<Tanh>(x); }
Tensor sigmoid(const Tensor& x) { return unary<Sigmoid>(x); }
Tensor erf(const Tensor& x) { return unary<Erf>(x); }
Tensor sin(const Tensor& x) { return unary<Sin>(x); }
Tensor cos(const Tensor& x) { return unary<Cos>(x); }
Tensor abs(const Tensor& x) { return unary<Abs>(x); }
Tensor sign(const Tensor& x) { return apply1(sign_op, {contiguous(x)}); }

extern const std::vector<const OpDef*> math_ops{
    &Unary<Exp>::op,     &Unary<Exp>::grad,     &Unary<Log>::op,   &Unary<Log>::grad,
    &Unary<Sqrt>::op,    &Unary<Sqrt>::grad,    &Unary<Rsqrt>::op, &Unary<Rsqrt>::grad,
    &Unary<Square>::op,  &Unary<Square>::grad,  &Unary<Tanh>::op,  &Unary<Tanh>::grad,
    &Unary<Sigmoid>::op, &Unary<Sigmoid>::grad, &Unary<Erf>::op,   &Unary<Erf>::grad,
    &Unary<Sin>::op,     &Unary<Sin>::grad,     &Unary<Cos>::op,   &Unary<Cos>::grad,
    &Unary<Abs>::op,     &Unary<Abs>::grad,     &sign_op};

}  // namespace plimsoll
