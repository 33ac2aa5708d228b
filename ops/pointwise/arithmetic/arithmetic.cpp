#include "ops/pointwise/arithmetic/arithmetic.h"

#include <cmath>

#include "ops/common/pointwise.h"
#include "ops/pointwise/arithmetic/formulas.h"
#include "ops/reduction/sum/sum.h"

namespace plimsoll {

using namespace formulas;

// Integers have a loop of their own, which refuses to divide by zero.
template <>
void Binary<DivTrunc>::cpu(const Call& call) {
  visit_any(call.out[0].dtype(), [&]<class T>() {
    if constexpr (!std::is_integral_v<T>) {
      map_pairs<T, T>(call, [](Computed<T> a, Computed<T> b) { return DivTrunc::f(a, b); });
    } else if constexpr (!std::is_same_v<T, bool>) {
      const Walk<2> walk(call.in, call.out[0].shape());
      const auto [a_step, b_step] = walk.step;
      for_runs(walk,
               [&, a_step = a_step, b_step = b_step](const auto& at, int64_t begin, int64_t n) {
                 const T *a = call.in[0].as<T>() + at[0], *b = call.in[1].as<T>() + at[1];
                 T* y = call.out[0].as<T>() + begin;
                 for (int64_t i = 0; i < n; ++i) {
                   const T dividend = a[i * a_step], divisor = b[i * b_step];
                   if (divisor == 0) fail_divided_by_zero(dividend);
                   y[i] = integer_quotient(dividend, divisor);
                 }
               });
    }
  });
}

namespace {

// The gradient of input i when the broadcast result would have gradient g(): summed over the
// repeated axes; undefined when nobody wants it.
template <class G>
Tensor reduced(const Backward& b, int i, G&& g) {
  return b.needs(i) ? sum_to(g(), b.input_meta(i).shape) : Tensor();
}

std::vector<Tensor> add_vjp(const Backward& b) {
  const auto dy = [&] { return b.grad(); };
  return {reduced(b, 0, dy), reduced(b, 1, dy)};
}

std::vector<Tensor> sub_vjp(const Backward& b) {
  return {reduced(b, 0, [&] { return b.grad(); }), reduced(b, 1, [&] { return -b.grad(); })};
}

std::vector<Tensor> mul_vjp(const Backward& b) {
  return {reduced(b, 0, [&] { return b.grad() * b.input(1); }),
          reduced(b, 1, [&] { return b.grad() * b.input(0); })};
}

// d(a / b) = da / b - (a / b) db / b
std::vector<Tensor> div_vjp(const Backward& b) {
  return {reduced(b, 0, [&] { return b.grad() / b.input(1); }),
          reduced(b, 1, [&] { return -(b.grad() * b.output(0) / b.input(1)); })};
}

constexpr OpDef add_op = binary_op<Add>({add_vjp});
constexpr OpDef sub_op = binary_op<Sub>({sub_vjp});
constexpr OpDef mul_op = binary_op<Mul>({.rule = mul_vjp, .inputs = bits(0, 1)});
constexpr OpDef div_op = binary_op<Div>({.rule = div_vjp, .inputs = bits(1), .outputs = bits(0)});
constexpr OpDef div_trunc_op = binary_op<DivTrunc>();

std::vector<Tensor> affine_vjp(const Backward& b) {
  return {affine(b.grad(), b.attrs<AffineAttrs>().scale, -0.0)};
}

std::vector<Tensor> divide_vjp(const Backward& b) {
  return {b.grad() / b.attrs<DivideAttrs>().divisor};
}

// y = f(x) with constants, whose gradient needs no input.
template <class F>
constexpr OpDef constants_op(Vjp vjp) {
  return {.name = F::name,
          .infer =
              [](std::span<const Meta> in, const Attrs&) {
                check_floating(F::name, in[0].dtype);
                return Metas{in[0]};
              },
          .cpu = Unary<F>::cpu,
          .cuda = unary_cuda<F>,
          .vjp = vjp,
          .inplace = 0};
}
constexpr OpDef affine_op = constants_op<Affine>({affine_vjp});
constexpr OpDef divide_op = constants_op<Divide>({divide_vjp});

}  // namespace

Tensor add(const Tensor& a, const Tensor& b) { return apply1(add_op, {a, b}); }
Tensor sub(const Tensor& a, const Tensor& b) { return apply1(sub_op, {a, b}); }
Tensor mul(const Tensor& a, const Tensor& b) { return apply1(mul_op, {a, b}); }
Tensor div(const Tensor& a, const Tensor& b) { return apply1(div_op, {a, b}); }
Tensor div_trunc(const Tensor& a, const Tensor& b) { return apply1(div_trunc_op, {a, b}); }

Tensor affine(const Tensor& x, double scale, double shift) {
  return apply1(affine_op, {contiguous(x)}, AffineAttrs{scale, shift});
}

Tensor divide(const Tensor& x, double divisor) {
  return apply1(divide_op, {contiguous(x)}, DivideAttrs{divisor});
}

extern const std::vector<const OpDef*> arithmetic_ops{&add_op,       &sub_op,    &mul_op,   &div_op,
                                                      &div_trunc_op, &affine_op, &divide_op};

}  // namespace plimsoll
