// Element by element: activations, arithmetic, comparisons, casts.
#include <limits>

#include "tests/foreign/onnx/cases.h"

namespace plimsoll::onnx {
namespace {

// y = f(x) for floating x.
template <class F>
Op map(F f) {
  return [f](const OpCall& c) { return std::vector{f(c[0])}; };
}

template <class F>
Op map_any(F f) {
  return [f](const OpCall& c) { return std::vector{in_floating(c[0], f)}; };
}

template <class F>
Op pair(F f) {
  return [f](const OpCall& c) { return std::vector{f(c[0], c[1])}; };
}

template <class F>
Op fold(F f) {
  return [f](const OpCall& c) {
    Tensor y = c[0];
    for (size_t i = 1; i < c.in.size(); ++i) y = f(y, c[i]);
    return std::vector{y};
  };
}

std::vector<Tensor> average(const OpCall& c) {
  Tensor y = c[0];
  for (size_t i = 1; i < c.in.size(); ++i) y = y + c[i];
  return {y / static_cast<double>(c.in.size())};
}

std::vector<Tensor> divide(const OpCall& c) {
  return {is_floating(c[0].dtype()) ? c[0] / c[1] : div_trunc(c[0], c[1])};
}

// The result has the type of the base, whatever the exponent is.
std::vector<Tensor> power(const OpCall& c) {
  const DType dtype = c[0].dtype();
  const DType wide =
      is_floating(dtype) && is_floating(c[1].dtype()) && dtype == c[1].dtype() ? dtype : DType::f64;
  return {cast(pow(cast(c[0], wide), cast(c[1], wide)), dtype)};
}

// What is left after division, with the sign of the divisor, or, for fmod, of the dividend.
std::vector<Tensor> remainder(const OpCall& c) {
  const bool widened = c[0].dtype() == DType::f16 || c[0].dtype() == DType::bf16;
  const DType dtype = c[0].dtype(), wide = widened ? DType::f32 : dtype;
  const Tensor a = cast(c[0], wide), b = cast(c[1], wide);
  Tensor rest = a - b * div_trunc(a, b);
  if (is_floating(wide)) {  // of infinity nothing is taken
    const Tensor unbounded = eq(abs(b), std::numeric_limits<double>::infinity());
    rest = where(logical_and(unbounded, eq(a - a, 0)), a, rest);
  }
  if (c.node.flag("fmod")) return {cast(rest, dtype)};
  const Tensor other_side = logical_and(ne(rest, 0), logical_xor(lt(rest, 0), lt(b, 0)));
  return {cast(where(other_side, rest + b, rest), dtype)};
}

// The nearest whole number towards zero, and one more below or above where that was not it.
Tensor whole_part(const Tensor& x) { return div_trunc(x, ones({}, {.dtype = x.dtype()})); }
Tensor rounded_down(const Tensor& x) {
  const Tensor whole = whole_part(x);
  return where(gt(whole, x), whole - 1, whole);
}
Tensor rounded_up(const Tensor& x) { return -rounded_down(-x); }

std::vector<Tensor> shrunk(const OpCall& c) {
  const double lambda = c.node.real("lambd", 0.5), bias = c.node.real("bias", 0);
  return {in_floating(c[0], [&](const Tensor& x) {
    const Tensor none = zeros({}, {.dtype = x.dtype()});
    return where(lt(x, -lambda), x + bias, where(gt(x, lambda), x - bias, none));
  })};
}

// Bounds were attributes up to version 6, and are inputs since.
std::vector<Tensor> clip(const OpCall& c) {
  Tensor y = c[0];
  const auto bound = [&](size_t input, const char* name) {
    if (c.has(input)) return c[input];
    return c.node.has(name) ? full({}, c.node.real(name, 0), {.dtype = y.dtype()}) : Tensor();
  };
  if (const Tensor low = bound(1, "min"); low.defined()) y = maximum(y, low);
  if (const Tensor high = bound(2, "max"); high.defined()) y = minimum(y, high);
  return {y};
}

std::vector<Tensor> gelus(const OpCall& c) {
  const std::string how = c.node.text("approximate", "none");
  check<Unsupported>(how == "none" || how == "tanh", "approximate = ", how);
  return {how == "tanh" ? gelu_tanh(c[0]) : gelu(c[0])};
}

std::vector<Tensor> scaled_elu(const OpCall& c) {
  const double alpha = c.node.real("alpha", 1.67326319217681884765625);
  const double gamma = c.node.real("gamma", 1.05070102214813232421875);
  return {elu(c[0], alpha) * gamma};
}

std::vector<Tensor> continuous_elu(const OpCall& c) {
  const double alpha = c.node.real("alpha", 1);
  return {elu(c[0] / alpha) * alpha};
}

std::vector<Tensor> thresholded_relu(const OpCall& c) {
  const Tensor zero = zeros({}, {.dtype = c[0].dtype()});
  return {where(gt(c[0], c.node.real("alpha", 1)), c[0], zero)};
}

std::vector<Tensor> parametric_relu(const OpCall& c) {
  return {where(lt(c[0], 0), c[0] * c[1], c[0])};
}

std::vector<Tensor> general_hardsigmoid(const OpCall& c) {
  return {clamp(affine(c[0], c.node.real("alpha", 0.2), c.node.real("beta", 0.5)), 0, 1)};
}

std::vector<Tensor> swish(const OpCall& c) {
  const double alpha = c.node.real("alpha", 1);
  return {alpha == 1 ? silu(c[0]) : c[0] * sigmoid(c[0] * alpha)};
}

std::vector<Tensor> gated_swish(const OpCall& c) {
  const double alpha = c.node.real("alpha", 1);
  return {c[0] * sigmoid(c[0] * alpha) * c[1]};
}

std::vector<Tensor> is_infinite(const OpCall& c) {
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor none = zeros(c[0].shape(), {.dtype = DType::boolean});
  const Tensor up = c.node.flag("detect_positive", true) ? eq(c[0], inf) : none;
  const Tensor down = c.node.flag("detect_negative", true) ? eq(c[0], -inf) : none;
  return {logical_or(up, down)};
}

std::vector<Tensor> change_type(const OpCall& c) {
  c.node.integer("saturate", 1);  // only f8 can overflow another way
  c.node.text("round_mode", "");  // likewise
  return {cast(c[0], dtype_of_number(c.node.integer("to", 0)))};
}

// Not comparable where something was drawn: only at inference, and at a ratio of 0.
std::vector<Tensor> drop(const OpCall& c) {
  c.node.integer("seed", 0);
  const double ratio = c.real(1, c.node.real("ratio", 0.5));
  const bool training =
      c.opset >= 12 ? c.integer(2, 0) != 0 : c.opset < 7 && !c.node.flag("is_test");
  check<Unsupported>(!training || ratio == 0, "random numbers of its own: ratio ", ratio,
                     " in training");
  const Tensor key = make_key(1, 1);
  return {training ? dropout(c[0], ratio, key, 0) : c[0],
          ones(c[0].shape(), {.dtype = DType::boolean})};
}

}  // namespace

Ops pointwise_ops() {
  using T = const Tensor&;
  return {
      {"Abs", map_any([](T x) { return abs(x); })},
      {"Neg", map_any([](T x) { return -x; })},
      {"Sign", map_any([](T x) { return sign(x); })},
      {"Exp", map([](T x) { return exp(x); })},
      {"Log", map([](T x) { return log(x); })},
      {"Sqrt", map([](T x) { return sqrt(x); })},
      {"Reciprocal", map([](T x) { return pow(x, -1); })},
      {"Sin", map([](T x) { return sin(x); })},
      {"Cos", map([](T x) { return cos(x); })},
      {"Tan", map([](T x) { return sin(x) / cos(x); })},
      {"Sinh", map([](T x) { return (exp(x) - exp(-x)) / 2; })},
      {"Cosh", map([](T x) { return (exp(x) + exp(-x)) / 2; })},
      {"Floor", map(rounded_down)},
      {"Ceil", map(rounded_up)},
      {"Erf", map([](T x) { return erf(x); })},
      {"Tanh", map([](T x) { return tanh(x); })},
      {"Sigmoid", map([](T x) { return sigmoid(x); })},
      {"Relu", map_any([](T x) { return relu(x); })},
      {"Softplus", map([](T x) { return softplus(x); })},
      {"Softsign", map([](T x) { return x / (abs(x) + 1); })},
      {"HardSwish", map([](T x) { return hardswish(x); })},
      {"Mish", map([](T x) { return mish(x); })},
      {"Not", map([](T x) { return logical_not(x); })},
      {"IsNaN", map([](T x) { return ne(x, x); })},
      {"LeakyRelu",
       [](auto& c) { return std::vector{leaky_relu(c[0], c.node.real("alpha", 0.01))}; }},
      {"Elu", [](auto& c) { return std::vector{elu(c[0], c.node.real("alpha", 1))}; }},
      {"Selu", scaled_elu},
      {"Shrink", shrunk},
      {"Celu", continuous_elu},
      {"ThresholdedRelu", thresholded_relu},
      {"PRelu", parametric_relu},
      {"HardSigmoid", general_hardsigmoid},
      {"Swish", swish},
      {"SwiGLU", gated_swish},
      {"Gelu", gelus},
      {"Clip", clip},
      {"IsInf", is_infinite},
      {"Add", pair([](T a, T b) { return a + b; })},
      {"Sub", pair([](T a, T b) { return a - b; })},
      {"Mul", pair([](T a, T b) { return a * b; })},
      {"Div", divide},
      {"Pow", power},
      {"Mod", remainder},
      {"Max", fold(maximum)},
      {"Min", fold(minimum)},
      {"Sum", fold(add)},
      {"Mean", average},
      {"Equal", pair([](T a, T b) { return eq(a, b); })},
      {"Less", pair([](T a, T b) { return lt(a, b); })},
      {"LessOrEqual", pair([](T a, T b) { return le(a, b); })},
      {"Greater", pair([](T a, T b) { return gt(a, b); })},
      {"GreaterOrEqual", pair([](T a, T b) { return ge(a, b); })},
      {"And", pair(logical_and)},
      {"Or", pair(logical_or)},
      {"Xor", pair(logical_xor)},
      {"Where", [](auto& c) { return std::vector{where(c[0], c[1], c[2])}; }},
      {"Identity", map([](T x) { return x; })},
      {"Cast", change_type},
      {"CastLike",
       [](auto& c) {
         c.node.integer("saturate", 1);
         c.node.text("round_mode", "");
         return std::vector{cast(c[0], c[1].dtype())};
       }},
      {"Dropout", drop},
  };
}

}  // namespace plimsoll::onnx
