#include "ops/pointwise/activations/activations.h"

#include "autograd/gradients.h"
#include "ops/random/full/full.h"
#include "tests/support/op_case.h"

namespace plimsoll {
namespace {

double softplus_of(double x) { return std::log1p(std::exp(x)); }

struct Activation {
  const char* name;
  Tensor (*op)(const Tensor&);
  double (*f)(double);
  std::vector<double> smooth;  // values away from kinks; the special ones are added to them
  double at_minus_infinity;
};

const std::vector<Activation>& activations() {
  static const std::vector<double> wide{-30, -6, -2, -0.5, -0.0625, 0.0625, 0.5, 2, 6, 30};
  static const std::vector<Activation> all{
      {"leaky_relu", [](const Tensor& x) { return leaky_relu(x); },
       [](double x) { return x > 0 ? x : 0.01 * x; }, wide, -kInf},
      {"leaky_relu_slope", [](const Tensor& x) { return leaky_relu(x, 0.25); },
       [](double x) { return std::max(x, 0.25 * x); }, wide, -kInf},
      {"elu", [](const Tensor& x) { return elu(x); },
       [](double x) { return x > 0 ? x : std::expm1(x); }, wide, -1},
      {"elu_alpha", [](const Tensor& x) { return elu(x, 0.5); },
       [](double x) { return x > 0 ? x : 0.5 * std::expm1(x); }, wide, -0.5},
      {"selu", selu,
       [](double x) {
         return 1.0507009873554805 * (x > 0 ? x : 1.6732632423543772 * std::expm1(x));
       },
       wide, -1.0507009873554805 * 1.6732632423543772},
      {"silu", silu, [](double x) { return x / (1 + std::exp(-x)); }, wide, kNaN},
      {"mish", mish, [](double x) { return x * std::tanh(softplus_of(x)); }, wide, kNaN},
      {"hardswish",
       hardswish,
       [](double x) { return x * std::min(std::max(x + 3, 0.0), 6.0) / 6; },
       {-30, -3.5, -2.5, -1, -0.25, 0.25, 1, 2.5, 3.5, 30},
       0},
      {"hardsigmoid",
       hardsigmoid,
       [](double x) { return std::min(std::max(x / 6 + 0.5, 0.0), 1.0); },
       {-30, -3.5, -2.5, -1, -0.25, 0.25, 1, 2.5, 3.5, 30},
       0},
      {"log_sigmoid", log_sigmoid,
       [](double x) { return (x < 0 ? x : 0) - softplus_of(-std::abs(x)); }, wide, -kInf}};
  return all;
}

OpCase maps(const std::string& name, InputSpec input, const Activation& a) {
  return {.name = name,
          .inputs = {input},
          .call = [op = a.op](auto in) { return std::vector{op(in[0])}; },
          .reference =
              [f = a.f](const std::vector<Array>& in) {
                Array y = in[0];
                for (double& v : y.values) v = f(v);
                return std::vector{y};
              }};
}

// dx for dy = 1 where the derivative jumps, and the values themselves at the ends.
OpCase states(const std::string& name, Tensor (*op)(const Tensor&), std::vector<double> x,
              std::vector<double> dx) {
  const auto n = static_cast<int64_t>(x.size());
  return {.name = name,
          .inputs = {given({n}, x)},
          .call =
              [op](auto in) {
                const Tensor leaf = in[0].detach().require_grad();
                return gradients(
                    op(leaf), std::array{leaf},
                    {.seed = full({in[0].size(0)}, 1, {in[0].dtype(), in[0].device()})});
              },
          .reference =
              [dx, n](auto) {
                Array result({n});
                result.values = dx;
                return std::vector{result};
              },
          .differentiable = false};
}

}  // namespace

OpCases activations_cases() {
  OpCases cases;
  for (const Activation& a : activations()) {
    const std::string name = a.name;
    cases.good.push_back(maps(name + "_matrix", real({5, 7}, 0.25, 2.5), a));
    cases.good.push_back(maps(name + "_negative", real({67}, -2.5, -0.25), a));
    cases.good.push_back(maps(name + "_wide", given({10}, a.smooth), a));
    cases.good.push_back(maps(name + "_scalar", real({}, 0.25, 1), a));
    cases.good.push_back(maps(name + "_empty", real({3, 0}), a));
    const bool bounded = name == "hardsigmoid", flat = name == "log_sigmoid";
    OpCase special = maps(name + "_special", given({3}, {kNaN, kInf, -kInf}), a);
    special.reference = [low = a.at_minus_infinity, high = bounded ? 1
                                                           : flat  ? 0
                                                                   : kInf](auto) {
      Array y({3});
      y.values = {kNaN, high, low};
      return std::vector{y};
    };
    special.differentiable = false;
    cases.good.push_back(special);
  }
  cases.good.push_back(states("leaky_relu_kink",
                              [](const Tensor& x) { return leaky_relu(x, 0.25); },
                              {0, -0.0, kInf, -kInf}, {0.25, 0.25, 1, 0.25}));
  cases.good.push_back(states("elu_kink", [](const Tensor& x) { return elu(x, 0.5); },
                              {0, 1, kInf, -kInf}, {0.5, 1, 1, 0}));
  cases.good.push_back(
      states("hardswish_kinks", hardswish, {-3, 3, 4, -4, kInf, -kInf}, {-0.5, 1, 1, 0, 1, 0}));
  cases.good.push_back(
      states("hardsigmoid_kinks", hardsigmoid, {-3, 3, 0, kInf, -kInf}, {0, 0, 1.0 / 6, 0, 0}));
  // Errors are relative to the largest value, so small values need a case of their own; f16 has too
  // few digits left there.
  for (const Activation& a : activations()) {
    const std::string name = a.name;
    if (name != "silu" && name != "mish") continue;
    cases.good.push_back(maps(name + "_tail", real({16}, -16, -15), a));
    cases.good.back().dtypes = {DType::f64, DType::f32, DType::bf16};
  }
  cases.good.push_back(maps("elu_near_zero", real({16}, -2e-3, -1e-3), activations()[2]));
  cases.bad = {{"integers", [] { leaky_relu(ones({2}, {.dtype = DType::i32})); },
                "leaky_relu: a floating type is needed: got i32 [2] on cpu. Cast it first."},
               {"bool", [] { mish(ones({2}, {.dtype = DType::boolean})); },
                "mish: a floating type is needed: got bool [2] on cpu. Cast it first."}};
  return cases;
}

}  // namespace plimsoll
