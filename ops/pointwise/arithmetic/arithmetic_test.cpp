#include "ops/pointwise/arithmetic/arithmetic.h"

#include <cmath>

#include "ops/pointwise/copy/copy.h"
#include "ops/random/full/full.h"
#include "ops/shape/view/view.h"
#include "tests/support/broadcast_reference.h"
#include "tests/support/op_case.h"

namespace plimsoll {
namespace {

OpCase binary(const char* name, InputSpec a, InputSpec b,
              Tensor (*op)(const Tensor&, const Tensor&), double (*f)(double, double)) {
  return {.name = name,
          .inputs = {a, b},
          .call = [op](auto in) { return std::vector{op(in[0], in[1])}; },
          .reference =
              [f](const std::vector<Array>& in) {
                return std::vector{broadcast_map(in, [&](const auto& v) { return f(v[0], v[1]); })};
              }};
}

// One operator with a constant.
OpCase constant(const char* name, InputSpec x, Tensor (*op)(const Tensor&), double (*f)(double)) {
  return {.name = name,
          .inputs = {x},
          .call = [op](auto in) { return std::vector{op(in[0])}; },
          .reference =
              [f](const std::vector<Array>& in) {
                Array y(in[0].shape);
                for (int64_t i = 0; i < count(y.shape); ++i) y[i] = f(in[0][i]);
                return std::vector{y};
              }};
}

// Both operands read through strides, where neither has neighbours side by side.
OpCase strided(const char* name, Tensor (*op)(const Tensor&, const Tensor&),
               double (*f)(double, double)) {
  return {
      .name = name,
      .inputs = {real({3, 4}), real({4, 6}, 0.5, 2)},
      .call = [op](auto in) { return std::vector{op(transpose(in[0]), slice(in[1], 1, 0, 6, 2))}; },
      .reference =
          [f](const std::vector<Array>& in) {
            Array y({4, 3});
            for (int64_t i = 0; i < 4; ++i)
              for (int64_t j = 0; j < 3; ++j)
                y[i * 3 + j] = f(in[0][j * 4 + i], in[1][i * 6 + 2 * j]);
            return std::vector{y};
          }};
}

// Integers of one type through all operators; u8 and i32 wrap around beyond `highest`.
OpCase integers(const char* name, DType dtype, double highest) {
  const auto wrapped = [=](double v) -> double {
    if (dtype == DType::u8) return std::fmod(v + 256, 256);
    return dtype == DType::i32 && v > highest ? v - 0x1p32 : v;
  };
  return {.name = name,
          .inputs = {given_index({2, 3}, {7, 5, 250, 100, 9, 8}), given_index({3}, {2, 3, 20})},
          .call =
              [=](auto in) {
                const Tensor a = cast(in[0], dtype), b = cast(in[1], dtype);
                const Tensor large = full({}, highest, {dtype, a.device()});
                return std::vector{add(a, b), sub(a, b), mul(a, b), div_trunc(a, b), add(a, large)};
              },
          .reference =
              [=](const std::vector<Array>& in) {
                const auto map = [&](auto f) {
                  return broadcast_map(in, [&](const auto& v) { return f(v[0], v[1]); });
                };
                return std::vector{map([&](double a, double b) { return wrapped(a + b); }),
                                   map([&](double a, double b) { return wrapped(a - b); }),
                                   map([&](double a, double b) { return wrapped(a * b); }),
                                   map([](double a, double b) { return std::floor(a / b); }),
                                   map([&](double a, double) { return wrapped(a + highest); })};
              },
          .differentiable = false,
          .dtypes = {DType::f32}};  // the inputs are integers anyway
}

OpCase truncated(InputSpec a, InputSpec b) {
  OpCase c =
      binary("div_trunc", a, b, div_trunc, [](double x, double y) { return std::trunc(x / y); });
  c.differentiable = false;
  return c;
}

// Towards zero, and the smallest integer over -1 is itself.
OpCase integer_quotients() {
  return {.name = "integer_quotients",
          .inputs = {given_index({5}, {-7, 7, -7, -2147483648.0, 0}),
                     given_index({5}, {2, -2, -7, -1, 5})},
          .call =
              [](auto in) {
                return std::vector{div_trunc(cast(in[0], DType::i32), cast(in[1], DType::i32))};
              },
          .reference =
              [](auto) {
                Array y({5});
                y.values = {-3, -3, 1, -2147483648.0, 0};
                return std::vector{y};
              },
          .differentiable = false,
          .dtypes = {DType::f32}};
}

Tensor reciprocal(const Tensor& x) {
  return div(full({}, 1, {.dtype = x.meta().dtype, .device = x.meta().device}), x);
}

// Operators with a constant.
std::vector<OpCase> constants() {
  const InputSpec x = real({3, 4});
  std::vector<OpCase> cases{
      constant(
          "affine", x, [](const Tensor& t) { return 1.0 - 2.5 * t; },
          [](double v) { return 1.0 - 2.5 * v; }),
      constant(
          "negative", x, [](const Tensor& t) { return -t; }, [](double v) { return -v; }),
      constant(
          "constant_minus", x, [](const Tensor& t) { return 0.75 - t; },
          [](double v) { return 0.75 - v; }),
      constant(
          "minus_constant", x, [](const Tensor& t) { return t - 0.75; },
          [](double v) { return v - 0.75; }),
      constant(
          "plus_constant", x, [](const Tensor& t) { return t + 0.75; },
          [](double v) { return v + 0.75; }),
      constant(
          "constant_plus", x, [](const Tensor& t) { return 0.75 + t; },
          [](double v) { return 0.75 + v; }),
      constant(
          "times_constant", x, [](const Tensor& t) { return t * 0.3; },
          [](double v) { return v * 0.3; }),
      constant(
          "over_constant", x, [](const Tensor& t) { return t / 0.3; },
          [](double v) { return v / 0.3; }),
      constant(
          "over_constant_empty", real({0, 2}), [](const Tensor& t) { return t / 3; },
          [](double v) { return v / 3; })};

  // Zeros have signs, which their reciprocals show.
  const InputSpec zeros_of_both_signs = given({2}, {0, -0.0});
  OpCase minus_zero = constant(
      "minus_zero", zeros_of_both_signs, [](const Tensor& t) { return reciprocal(-t); },
      [](double v) { return 1 / -v; });
  OpCase times_zero = constant(
      "times_minus_zero", zeros_of_both_signs, [](const Tensor& t) { return reciprocal(t * 3); },
      [](double v) { return 1 / (v * 3); });
  for (OpCase* zero : {&minus_zero, &times_zero}) {
    zero->differentiable = false;
    cases.push_back(*zero);
  }

  // 1 / c is beyond f32, x / c is not. Beyond f16 as well, and too steep for finite differences.
  OpCase tiny = constant(
      "over_tiny_constant", real({5}, 1e-3, 2e-3), [](const Tensor& t) { return t / 0x1p-129; },
      [](double v) { return v / 0x1p-129; });
  tiny.differentiable = false;
  tiny.dtypes = {DType::f64, DType::f32, DType::bf16};
  cases.push_back(tiny);
  return cases;
}

}  // namespace

OpCases arithmetic_cases() {
  const auto plus = [](double a, double b) { return a + b; };
  const auto minus = [](double a, double b) { return a - b; };
  const auto times = [](double a, double b) { return a * b; };
  const auto over = [](double a, double b) { return a / b; };
  OpCases cases{
      .good = {binary("add_same", real({3, 5}), real({3, 5}), add, plus),
               binary("add_bias", real({2, 3, 4}), real({4}), add, plus),
               binary("sub_outer", real({3, 1}), real({1, 4}), sub, minus),
               binary("mul_middle", real({2, 3, 4}), real({2, 1, 4}), mul, times),
               binary("mul_scalar", real({2, 3}), real({}), mul, times),
               binary("mul_empty", real({0, 3}), real({3}), mul, times),
               binary("div_rows", real({4, 3}), real({4, 1}, 0.5, 2), div, over),
               binary("div_scalars", real({}), real({}, 0.5, 2), div, over),
               binary("add_eight_axes", real({2, 1, 2, 1, 2, 1, 2, 1}),
                      real({1, 2, 1, 2, 1, 2, 1, 2}), add, plus),
               strided("add_strided", add, plus), strided("sub_strided", sub, minus),
               strided("mul_strided", mul, times), strided("div_strided", div, over),
               integers("i64", DType::i64, 0x1p52), integers("i32", DType::i32, 2147483647),
               integers("u8", DType::u8, 255), integer_quotients(),
               truncated(real({3, 4}, 2, 9), given({4}, {0.7, -0.7, 3, -11}))},
      .bad = {
          {"shapes", [] { add(ones({2, 3}), ones({4})); },
           "add: the shapes do not broadcast: [2, 3] and [4]. Sizes must be equal or 1, aligned "
           "at the last axis."},
          {"types", [] { mul(ones({2}), ones({2}, {.dtype = DType::f64})); },
           "mul: the types differ: f32 and f64. Cast one of them."},
          {"integers", [] { affine(ones({2}, {.dtype = DType::i64}), 2, 0); },
           "affine: a floating type is needed: got i64. Cast it first."},
          {"integers_over", [] { ones({2}, {.dtype = DType::i64}) / 2; },
           "divide: a floating type is needed: got i64. Cast it first."},
          {"integers_div",
           [] { div(ones({2}, {.dtype = DType::i64}), ones({2}, {.dtype = DType::i64})); },
           "div: a floating type is needed: got i64. Cast it first."},
          {"bools",
           [] { add(ones({2}, {.dtype = DType::boolean}), ones({}, {.dtype = DType::boolean})); },
           "add: numbers are needed: got bool. Cast it first."},
          {"zero",
           [] { div_trunc(full({2}, 7, {.dtype = DType::i32}), zeros({}, {.dtype = DType::i32})); },
           "div_trunc: an integer is divided by zero: 7 / 0. Mask zeros out of the divisor."},
          {"undefined", [] { add(Tensor(), ones({2})); },
           "add: input 0 is undefined. Pass a tensor that was computed."}}};
  for (const OpCase& c : constants()) cases.good.push_back(c);
  return cases;
}

}  // namespace plimsoll
