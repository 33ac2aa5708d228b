#include "ops/pointwise/math/math.h"

#include "autograd/gradients.h"
#include "ops/random/full/full.h"
#include "ops/shape/view/view.h"
#include "tests/support/op_case.h"

namespace plimsoll {
namespace {

OpCase maps(const std::string& name, InputSpec input, Tensor (*op)(const Tensor&),
            double (*f)(double)) {
  return {.name = name,
          .inputs = {input},
          .call = [op](auto in) { return std::vector{op(in[0])}; },
          .reference =
              [f](const std::vector<Array>& in) {
                Array y = in[0];
                for (double& v : y.values) v = f(v);
                return std::vector{y};
              }};
}

struct Function {
  const char* name;
  Tensor (*op)(const Tensor&);
  double (*f)(double);
  double low, high;                // a range that is differentiable and mild
  std::vector<double> remarkable;  // exact in every dtype
};

const std::vector<Function>& functions() {
  static const double nan = std::nan(""), infinity = HUGE_VAL;
  static const std::vector<Function> all = {
      {"exp",
       exp,
       [](double x) { return std::exp(x); },
       -3,
       3,
       {0, -0.0, 1, -1000, infinity, -infinity, nan}},
      {"log",
       log,
       [](double x) { return std::log(x); },
       0.25,
       4,
       {1, 0, -0.0, 2, 0.5, -1, infinity, -infinity, nan}},
      {"sqrt", sqrt, [](double x) { return std::sqrt(x); }, 0.25, 4, {0, 1, 4, -1, infinity, nan}},
      {"square", square, [](double x) { return x * x; }, -3, 3, {0, -2, infinity, -infinity, nan}},
      {"tanh",
       tanh,
       [](double x) { return std::tanh(x); },
       -3,
       3,
       {0, 0.125, -0.125, 100, -100, infinity, -infinity, nan}},
      {"sigmoid",
       sigmoid,
       [](double x) { return 1 / (1 + std::exp(-x)); },
       -6,
       6,
       {0, 1000, -1000, infinity, -infinity, nan}},
      {"rsqrt",
       rsqrt,
       [](double x) { return 1 / std::sqrt(x); },
       0.25,
       4,
       {1, 4, 0.25, 0, -1, infinity, nan}},
      {"erf", erf, [](double x) { return std::erf(x); }, -3, 3, {0, 100, infinity, -infinity, nan}},
      {"sin",
       sin,
       [](double x) { return std::sin(x); },
       -6,
       6,
       {0, 1, -4, 8192, 65280, -32768, infinity, nan}},  // beyond the reach of f32, too
      {"cos",
       cos,
       [](double x) { return std::cos(x); },
       -6,
       6,
       {0, 1, -4, 8192, 65280, -32768, -infinity, nan}},
      {"abs",
       abs,
       [](double x) { return std::fabs(x); },
       0.25,
       4,
       {0, -0.0, -2, infinity, -infinity, nan}},
      {"sign",
       sign,
       [](double x) { return x != x ? x : double(x > 0) - double(x < 0); },
       -4,
       -0.25,
       {0, -0.0, -2, 3, infinity, -infinity, nan}}};
  return all;
}

}  // namespace

OpCases math_cases() {
  OpCases cases;
  for (const Function& f : functions()) {
    const std::string name = f.name;
    cases.good.push_back(maps(name, real({5, 7}, f.low, f.high), f.op, f.f));
    cases.good.push_back(maps(name + "_scalar", real({}, 0.5, 1), f.op, f.f));
    cases.good.push_back(maps(name + "_empty", real({3, 0}), f.op, f.f));
    OpCase edges =
        maps(name + "_edges", given({static_cast<int64_t>(f.remarkable.size())}, f.remarkable),
             f.op, f.f);
    edges.differentiable = false;
    cases.good.push_back(edges);
    cases.bad.push_back({name, [op = f.op] { op(ones({2}, {.dtype = DType::i64})); },
                         name + ": a floating type is needed: got i64 [2] on cpu. Cast it first."});
  }
  // No products: an infinite or undefined dy goes through abs where x > 0 only.
  cases.good.push_back(
      {.name = "abs_gradient",
       .inputs = {given({5}, {-2, 0, -0.0, 3, -1}), given({5}, {kInf, kInf, kNaN, kInf, 0.5})},
       .call =
           [](auto in) {
             const Tensor x = in[0].detach().require_grad();
             return gradients(abs(x), std::array{x}, {.seed = in[1]});
           },
       .reference =
           [](auto) {
             Array dx({5});
             dx.values = {-kInf, 0, 0, kInf, -0.5};
             return std::vector{dx};
           },
       .differentiable = false});
  // Arguments beyond the reach of the f32 polynomials, and their gradients.
  cases.good.push_back(
      maps("sin_far", real({40}, 12000, 14000), sin, [](double x) { return std::sin(x); }));
  cases.good.back().dtypes = {DType::f64, DType::f32};
  cases.good.back().differentiable = false;  // finite differences have too few digits there
  // Every magnitude that f32 has. Each is an output of its own, or the large would hide the small.
  std::vector<double> magnitudes;
  for (int exponent = -148; exponent <= 127; exponent += 5)
    magnitudes.push_back(std::ldexp(1.25, exponent));
  const auto n = static_cast<int64_t>(magnitudes.size());
  cases.good.push_back({.name = "log_magnitudes",
                        .inputs = {given({n}, magnitudes)},
                        .call =
                            [n](auto in) {
                              const Tensor y = log(in[0]);
                              std::vector<Tensor> each;
                              for (int64_t i = 0; i < n; ++i) each.push_back(slice(y, 0, i, i + 1));
                              return each;
                            },
                        .reference =
                            [](const std::vector<Array>& in) {
                              std::vector<Array> each;
                              for (const double x : in[0].values) {
                                each.emplace_back(Shape{1});
                                each.back()[0] = std::log(x);
                              }
                              return each;
                            },
                        .differentiable = false,
                        .dtypes = {DType::f64, DType::f32}});
  return cases;
}

}  // namespace plimsoll
