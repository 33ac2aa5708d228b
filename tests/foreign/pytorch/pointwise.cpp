// Element by element: activations, arithmetic, comparisons, masks.
#include <algorithm>
#include <limits>
#include <numbers>

#include "tests/foreign/pytorch/pytorch.h"

namespace plimsoll::golden {
namespace {

using T = const Tensor&;
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr auto kX = "x|input|self|a";

template <class F>
Run map(F f) {
  return [f](Case& c) { return one(f(c[kX])); };
}

// f(a, b) of two tensors, or of one and a number.
template <class F>
Run pair(F f) {
  return [f](Case& c) {
    const Tensor a = c["a|x|input|self"];
    if (c.given("b|y|other")) return one(f(a, c["b|y|other"]));
    const double b = c.number("other|scalar|value|b|exponent", {0, 0.5, 1, 2});
    return one(f(a, full({}, b, {.dtype = a.dtype()})));
  };
}

Results scaled(Case& c, Tensor (*f)(const Tensor&, const Tensor&)) {  // a + alpha b
  const Tensor a = c["a|x|input|self"];
  const double alpha = c.number("alpha", {1, 2, 0.5});
  if (!c.given("b|y|other"))
    return one(f(a, full({}, alpha * c.number("other|scalar|value|b", {1, 2, 0.5, 3}),
                         {.dtype = a.dtype()})));
  const Tensor b = c["b|y|other"];
  return one(f(a, alpha == 1 ? b : b * alpha));
}

Results gelus(Case& c) {
  const std::string how = c.text("approximate", {"none", "tanh"});
  check<Unsupported>(how == "none" || how == "tanh", "approximate = ", how);
  return one(how == "tanh" ? gelu_tanh(c[kX]) : gelu(c[kX]));
}

// As clamp, but for its gradient, which is 0 at the bounds already: PyTorch's hardtanh.
Tensor hard(const Tensor& x, double low, double high) {
  const Tensor inside = logical_and(gt(x, low), lt(x, high));
  return where(inside, x, clamp(x, low, high).detach());
}

// Just at the bounds there is no gradient: PyTorch 1.13 and the engine let it through, 2.15 does
// not. Where no bound is named, they are -1 and 1, or those that the result keeps to.
Results clamped(Case& c) {
  constexpr auto kLow = "min|low|min_val", kHigh = "max|high|max_val";
  const std::vector<double> y = c.result().to_vector<double>();
  std::vector<double> lows{-kInf}, highs{kInf};
  if (!c.has(kLow) && !c.has(kHigh) && !y.empty()) {
    lows = {-1, *std::min_element(y.begin(), y.end()), -kInf};
    highs = {1, *std::max_element(y.begin(), y.end()), kInf};
  }
  const double low = c.number(kLow, lows), high = c.number(kHigh, highs);
  return one(c.any<int>({0, 1}) == 0 ? clamp(c[kX], low, high) : hard(c[kX], low, high));
}

// The same of hardswish at -3 and 3: -1/2 and 1 in PyTorch 1.13 and the engine, 0 and 1 in 2.15.
Results hardswishes(Case& c) {
  const Tensor x = c[kX], y = hardswish(x);
  return one(c.any<int>({0, 1}) == 0 ? y : where(eq(x, -3), y.detach(), y));
}

// log(1 + e^(beta x)) / beta; where beta x is beyond the threshold PyTorch takes x itself.
Results softpluses(Case& c) {
  const double beta = c.number("beta", {1, 2, 0.5}), threshold = c.number("threshold", {20});
  const Tensor x = c[kX], y = beta == 1 ? softplus(x) : softplus(x * beta) / beta;
  return one(where(gt(x * beta, threshold), x, y));
}

Results parametric_relu(Case& c) {
  const Tensor x = c[kX];
  Tensor w = c["w|weight"];
  if (w.count() > 1 && x.rank() > 2) {  // a slope for each channel
    Shape shape{w.count()};
    for (int i = 2; i < x.rank(); ++i) shape.push_back(1);
    w = reshape(w, shape);
  }
  return one(where(gt(x, 0), x, w * x));
}

Results shrunk(Case& c, bool soft) {
  const double lambda = c.number("lambd|lambda", {0.5, 1});
  const Tensor x = c[kX], zero = zeros({}, {.dtype = x.dtype()});
  const Tensor low = soft ? x + lambda : x, high = soft ? x - lambda : x;
  return one(where(gt(x, lambda), high, where(lt(x, -lambda), low, zero)));
}

Results thresholded(Case& c) {
  const double limit = c.number("threshold", {0, 0.1, 0.5, 1}),
               value = c.number("value", {0, 20, -1});
  const Tensor x = c[kX];
  return one(where(gt(x, limit), x, full({}, value, {.dtype = x.dtype()})));
}

Results powers(Case& c) {
  const Tensor a = c["a|x|input|self|base"];
  if (c.given("b|y|other|exponent")) return one(pow(a, c["b|y|other|exponent"]));
  return one(pow(a, c.number("exponent|p|e", {2, 3, 0.5, -1, 1.5, 2.5, -0.5, -2, 4})));
}

template <Tensor (*choose)(const Tensor&, const Tensor&)>
Results extreme(Case& c) {
  return one(choose(c["a|x|input|self"], c["b|y|other"]));
}

Results chosen(Case& c) {
  return one(where(c.mask("c|cond|condition|m|mask"), c["a|x|input|self"], c["b|y|other"]));
}

Results filled(Case& c) {
  return one(masked_fill(c[kX], c.mask("m|mask"),
                         c.number("value|fill|fill_value", {-1e9, 0, -kInf, 1, -1, -1e4, 0.5})));
}

Results gated(Case& c, Tensor (*f)(const Tensor&, int64_t)) {
  const Tensor x = c[kX];
  return one(f(x, c.axis(x.rank())));
}

Results mixed(Case& c) {  // a + w (b - a)
  const Tensor a = c["a|x|input|start"], b = c["b|y|end"];
  if (c.given("w|weight")) return one(a + c["w|weight"] * (b - a));
  return one(a + (b - a) * c.number("weight|w", {0.5, 0.3, 0.25}));
}

Results added_product(Case& c, bool quotient) {
  const Tensor x = c["x|input|self"], a = c["a|tensor1|t1"], b = c["b|tensor2|t2"];
  return one(x + (quotient ? a / b : a * b) * c.number("value", {1, 0.5, 2}));
}

// Nothing that was drawn can be compared.
Results dropped(Case& c) {
  const double p = c.number("p", {0, 0.5});
  check<Unsupported>(p == 0 || !c.flag("training|train", false), "random numbers of its own");
  return one(c[kX] * 1);
}

template <class F>
Run logic(F f) {
  return [f](Case& c) { return one(f(c.mask("a|x|input|self"), c.mask("b|y|other"))); };
}

}  // namespace

Table pointwise_table() {
  const auto slope = [](Case& c) {
    return one(leaky_relu(c[kX], c.number("negative_slope|slope|alpha", {0.01, 0.1, 0.2, 0.3})));
  };
  return {
      {"relu", map(relu)},
      {"relu6", map([](T x) { return hard(x, 0, 6); })},
      {"sigmoid", map(sigmoid)},
      {"tanh", map(tanh)},
      {"gelu", gelus},
      {"gelu_tanh", map(gelu_tanh)},
      {"gelu_erf", map(gelu)},
      {"gelu_exact", map(gelu)},
      {"gelu_none", map(gelu)},
      {"silu", map(silu)},
      {"swish", map(silu)},
      {"mish", map(mish)},
      {"softplus", softpluses},
      {"hardswish", hardswishes},
      {"hardsigmoid", map(hardsigmoid)},
      {"hardtanh",
       [](Case& c) {
         const double low = c.number("min_val|min", {-1}), high = c.number("max_val|max", {1});
         return one(hard(c[kX], low, high));
       }},
      {"logsigmoid", map(log_sigmoid)},
      {"elu",
       [](Case& c) {
         return one(elu(c[kX], c.number("alpha", {1, 0.5, 2, 1.5})));
       }},
      {"celu",
       [](Case& c) {
         const double alpha = c.number("alpha", {1, 0.5, 2, 1.5});
         return one(elu(c[kX] / alpha) * alpha);
       }},
      {"selu", map(selu)},
      {"leaky_relu", slope},
      {"leaky", slope},
      {"prelu", parametric_relu},
      {"softsign", map([](T x) { return x / (abs(x) + 1); })},
      {"tanhshrink", map([](T x) { return x - tanh(x); })},
      {"hardshrink", [](Case& c) { return shrunk(c, false); }},
      {"softshrink", [](Case& c) { return shrunk(c, true); }},
      {"threshold", thresholded},
      {"exp", map(exp)},
      {"exp2", map([](T x) { return exp(x * std::numbers::ln2); })},
      {"log", map(log)},
      {"log2", map([](T x) { return log(x) / std::numbers::ln2; })},
      {"log10", map([](T x) { return log(x) / std::numbers::ln10; })},
      {"log1p", map([](T x) { return log(x + 1); })},
      {"expm1", map([](T x) { return exp(x) - 1; })},
      {"sqrt", map(sqrt)},
      {"rsqrt", map(rsqrt)},
      {"square", map(square)},
      {"reciprocal", map([](T x) { return pow(x, -1); })},
      {"abs", map(abs)},
      {"sign", map(sign)},
      {"neg", map([](T x) { return -x; })},
      {"erf", map(erf)},
      {"sin", map(sin)},
      {"cos", map(cos)},
      {"tan", map([](T x) { return sin(x) / cos(x); })},
      {"sinh", map([](T x) { return (exp(x) - exp(-x)) / 2; })},
      {"cosh", map([](T x) { return (exp(x) + exp(-x)) / 2; })},
      {"pow", powers},
      {"clamp", clamped},
      {"clip", clamped},
      {"add", [](Case& c) { return scaled(c, add); }},
      {"sub", [](Case& c) { return scaled(c, sub); }},
      {"mul", pair(mul)},
      {"div", pair(div)},
      {"maximum", extreme<maximum>},
      {"minimum", extreme<minimum>},
      {"max_binary", extreme<maximum>},
      {"min_binary", extreme<minimum>},
      {"lerp", mixed},
      {"addcmul", [](Case& c) { return added_product(c, false); }},
      {"addcdiv", [](Case& c) { return added_product(c, true); }},
      {"eq", pair([](T a, T b) { return eq(a, b); })},
      {"ne", pair([](T a, T b) { return ne(a, b); })},
      {"lt", pair([](T a, T b) { return lt(a, b); })},
      {"le", pair([](T a, T b) { return le(a, b); })},
      {"gt", pair([](T a, T b) { return gt(a, b); })},
      {"ge", pair([](T a, T b) { return ge(a, b); })},
      {"logical_and", logic(logical_and)},
      {"logical_or", logic(logical_or)},
      {"logical_xor", logic(logical_xor)},
      {"logical_not", [](Case& c) { return one(logical_not(c.mask(kX))); }},
      {"where", chosen},
      {"masked_fill", filled},
      {"glu", [](Case& c) { return gated(c, glu); }},
      {"swiglu", [](Case& c) { return gated(c, swiglu); }},
      {"dropout", dropped},
  };
}

}  // namespace plimsoll::golden
