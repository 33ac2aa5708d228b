#include "ops/pointwise/pow/pow.h"

#include "ops/common/pointwise.h"
#include "ops/pointwise/arithmetic/arithmetic.h"
#include "ops/pointwise/pow/formulas.h"
#include "ops/reduction/sum/sum.h"

namespace plimsoll {

using namespace formulas;

namespace {

// Calls f with a function for x^c. The cheap exponents become vector code; libm's pow does not.
template <class F>
void with_power(double c, F&& f) {
  const auto root = [](auto x) { return power_of_half(x); };
  if (c == 0)
    f([](auto x) { return decltype(x)(1); });
  else if (c == 1)
    f([](auto x) { return x; });
  else if (c == 2)
    f([](auto x) { return x * x; });
  else if (c == 3)
    f([](auto x) { return x * x * x; });
  else if (c == -1)
    f([](auto x) { return 1 / x; });
  else if (c == 0.5)
    f(root);
  else if (c == -0.5)
    f([root](auto x) { return 1 / root(x); });
  else
    f([c](auto x) { return std::pow(x, static_cast<decltype(x)>(c)); });
}

Metas pow_infer(std::span<const Meta> in, const Attrs&) {
  check_floating("pow", in[0]);
  return {in[0]};
}

void pow_cpu(const Call& call) {
  visit_floating("pow", call.out[0].dtype(), [&]<class T>() {
    const T* x = call.in[0].as<T>();
    T* y = call.out[0].as<T>();
    with_power(call.attrs.as<PowAttrs>().exponent, [&](auto power) {
      parallel_for(count(call.out[0].shape()), grain_for(1), [&](int64_t begin, int64_t end) {
#pragma omp simd
        for (int64_t i = begin; i < end; ++i)
          y[i] = narrow<T>(power(static_cast<Compute<T>>(x[i])));
      });
    });
  });
}

void pow_grad_cpu(const Call& call) {
  const double c = call.attrs.as<PowAttrs>().exponent;
  visit_floating("pow", call.out[0].dtype(), [&]<class T>() {
    using C = Compute<T>;
    with_power(c - 1, [&, factor = static_cast<C>(c)](auto power) {
      map_pairs<T, T>(call, [=](C dy, C x) { return dy * factor * power(x); });
    });
  });
}

constexpr OpDef pow_grad_op{.name = "pow_grad",
                            .infer = same_as_input,
                            .cpu = pow_grad_cpu,
                            .cuda = unary_grad_cuda<ConstantPower>,
                            .inplace = 0};

std::vector<Tensor> pow_vjp(const Backward& b) {
  const auto& attrs = b.attrs<PowAttrs>();
  if (attrs.exponent == 0) return {Tensor()};  // zero, also where x^-1 is infinite
  return {apply1(pow_grad_op, {contiguous(b.grad()), b.input(0)}, attrs)};
}

constexpr OpDef pow_op{.name = "pow",
                       .infer = pow_infer,
                       .cpu = pow_cpu,
                       .cuda = unary_cuda<ConstantPower>,
                       .vjp = {.rule = pow_vjp, .inputs = bits(0)},
                       .inplace = 0,
                       .cast = CastRule::full};

constexpr OpDef pow_base_grad_op = binary_op<PowerByBase>({}, CastRule::keep);
constexpr OpDef pow_exponent_grad_op = binary_op<PowerByExponent>({}, CastRule::keep);

std::vector<Tensor> power_vjp(const Backward& b) {
  std::vector<Tensor> grads(2);
  const OpDef* ops[] = {&pow_base_grad_op, &pow_exponent_grad_op};
  for (int i = 0; i < 2; ++i)
    if (b.needs(i))
      grads[i] =
          sum_to(b.grad() * apply1(*ops[i], {b.input(0), b.input(1)}), b.input_meta(i).shape);
  return grads;
}

constexpr OpDef power_op =
    binary_op<Power>({.rule = power_vjp, .inputs = bits(0, 1)}, CastRule::full);

}  // namespace

Tensor pow(const Tensor& x, double c) { return apply1(pow_op, {contiguous(x)}, PowAttrs{c}); }
Tensor pow(const Tensor& a, const Tensor& b) { return apply1(power_op, {a, b}); }

extern const std::vector<const OpDef*> pow_ops{&pow_op, &pow_grad_op, &power_op, &pow_base_grad_op,
                                               &pow_exponent_grad_op};

}  // namespace plimsoll
