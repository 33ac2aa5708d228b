#include "ops/pointwise/copy/copy.h"

#include "ops/pointwise/arithmetic/arithmetic.h"
#include "ops/shape/view/view.h"
#include "tests/support/op_case.h"

namespace plimsoll {
namespace {

const double kNan = std::nan(""), kInfinity = HUGE_VAL;

std::vector<Array> same(const std::vector<Array>& in) { return in; }

// cast() of the given values, compared with given results: no arithmetic in between.
OpCase converts(const char* name, DType from, std::vector<double> values, DType to,
                std::vector<double> expected) {
  const auto n = static_cast<int64_t>(values.size());
  return {.name = name,
          .inputs = {from == DType::i64 ? given_index({n}, values) : given({n}, values)},
          .call = [to](auto in) { return std::vector{cast(in[0], to)}; },
          .reference =
              [n, expected](const std::vector<Array>&) {
                Array y({n});
                y.values = expected;
                return std::vector{y};
              },
          .differentiable = false,
          .dtypes = {is_floating(from) ? from : DType::f64}};
}

// From i64 to `from` first, for the types that an InputSpec does not have.
OpCase converts_twice(const char* name, std::vector<double> values, DType middle, DType to,
                      std::vector<double> expected) {
  OpCase c = converts(name, DType::i64, values, to, expected);
  c.call = [middle, to](auto in) { return std::vector{cast(cast(in[0], middle), to)}; };
  return c;
}

std::vector<OpCase> floats_to_integers() {
  const std::vector<double> odd{kNan, kInfinity, -kInfinity, 1e30, -1e30, 2.9, -2.9, -0.5, 0};
  const double max64 = 0x1p63, min32 = -0x1p31, max32 = 0x1p31 - 1;
  return {
      converts("f64_to_i64", DType::f64, odd, DType::i64,
               {0, max64, -max64, max64, -max64, 2, -2, 0, 0}),
      converts("f64_to_i32", DType::f64, odd, DType::i32,
               {0, max32, min32, max32, min32, 2, -2, 0, 0}),
      converts("f32_to_i32", DType::f32, odd, DType::i32,
               {0, max32, min32, max32, min32, 2, -2, 0, 0}),
      converts("f32_to_u8", DType::f32, odd, DType::u8, {0, 255, 0, 255, 0, 2, 0, 0, 0}),
      converts("bf16_to_u8", DType::bf16, {kNan, 255.9, 254, -3}, DType::u8, {0, 255, 254, 0}),
      converts("f16_to_i32", DType::f16, {kNan, kInfinity, 70000, -7.75}, DType::i32,
               {0, max32, max32, -7}),
      converts("edges_of_i32", DType::f64, {max32, max32 + 0.5, max32 + 1, min32 - 0.5, min32 - 1},
               DType::i32, {max32, max32, max32, min32, min32}),
      converts("f64_to_bool", DType::f64, {kNan, kInfinity, 0, -0.0, 1e-300, -2}, DType::boolean,
               {1, 1, 0, 0, 1, 1}),
  };
}

std::vector<OpCase> rounding() {
  const double tie16 = 1 + 0x1p-11, up16 = 1 + 0x1p-10, tiny = 0x1p-40;
  return {
      // Ties go to even, and the slightest excess decides: also where f32 would already round it
      // off.
      converts("f64_to_f16", DType::f64,
               {tie16, tie16 + tiny, tie16 - tiny, up16 + 0x1p-11, -tie16 - tiny}, DType::f16,
               {1, up16, 1, 1 + 0x1p-9, -up16}),
      converts("f64_to_f16_range", DType::f64,
               {65504, 65519.99, 65520, -1e300, 0x1p-24, 0x1p-25, 0x1p-25 + 0x1p-60, 1e-300, kNan},
               DType::f16, {65504, 65504, kInfinity, -kInfinity, 0x1p-24, 0, 0x1p-24, 0, kNan}),
      converts("f64_to_bf16", DType::f64,
               {1 + 0x1p-8, 1 + 0x1p-8 + tiny, 1 + 3 * 0x1p-8, 1e300, -3.4e38, kNan}, DType::bf16,
               {1, 1 + 0x1p-7, 1 + 0x1p-6, kInfinity, -kInfinity, kNan}),
      converts("f32_to_f16", DType::f32, {tie16, up16 + 0x1p-11, 1e6, -0x1p-24}, DType::f16,
               {1, 1 + 0x1p-9, kInfinity, -0x1p-24}),
      converts("f64_to_f32", DType::f64, {1 + 0x1p-24, 1 + 0x1p-24 + tiny, 1e300, 1e-300},
               DType::f32, {1, 1 + 0x1p-23, kInfinity, 0}),
      converts("f16_to_bf16", DType::f16, {1 + 0x1p-8, 3, -65504}, DType::bf16, {1, 3, -65536}),
  };
}

std::vector<OpCase> integers() {
  return {
      converts("i64_to_i32", DType::i64, {5, -5, 0x1p40, -0x1p40}, DType::i32,
               {5, -5, 0x1p31 - 1, -0x1p31}),
      converts("i64_to_u8", DType::i64, {-1, 0, 255, 256, 300}, DType::u8, {0, 0, 255, 255, 255}),
      converts("i64_to_f32", DType::i64, {16777217, -3}, DType::f32, {16777216, -3}),
      // 2^32 + 2^24 is a tie of bf16; f32 would round the 1 away.
      converts("i64_to_bf16", DType::i64, {0x1p32 + 0x1p24, 0x1p32 + 0x1p24 + 1}, DType::bf16,
               {0x1p32, 0x1p32 + 0x1p25}),
      converts("i64_to_bool", DType::i64, {0, 7, -7}, DType::boolean, {0, 1, 1}),
      converts_twice("u8_to_i32", {0, 200, 255}, DType::u8, DType::i32, {0, 200, 255}),
      converts_twice("i32_to_u8", {-4, 77, 1000}, DType::i32, DType::u8, {0, 77, 255}),
      converts_twice("i32_to_f16", {-4, 2049, 70000}, DType::i32, DType::f16, {-4, 2048, HUGE_VAL}),
      converts_twice("bool_to_f32", {0, 3}, DType::boolean, DType::f32, {0, 1}),
      converts_twice("bool_to_i64", {0, 3}, DType::boolean, DType::i64, {0, 1}),
      converts_twice("bool_to_bf16", {0, 3}, DType::boolean, DType::bf16, {0, 1}),
  };
}

std::vector<OpCase> copies() {
  const auto copy = [](auto in) { return std::vector{clone(in[0])}; };
  const auto dense = [](auto in) { return std::vector{contiguous(transpose(in[0]))}; };
  const auto squared = [](auto in) {
    const Tensor wide = cast(in[0], DType::f64);
    return std::vector{wide * wide};
  };
  return {
      {.name = "clone", .inputs = {real({3, 5})}, .call = copy, .reference = same},
      {.name = "clone_scalar", .inputs = {real({})}, .call = copy, .reference = same},
      {.name = "clone_empty", .inputs = {real({2, 0})}, .call = copy, .reference = same},
      {.name = "clone_integers",
       .inputs = {index({4, 3}, 99)},
       .call = copy,
       .reference = same,
       .differentiable = false},
      {.name = "contiguous",
       .inputs = {real({3, 5})},
       .call = dense,
       .reference =
           [](const std::vector<Array>& in) {
             Array y({5, 3});
             for (int64_t i = 0; i < 5; ++i)
               for (int64_t j = 0; j < 3; ++j) y[i * 3 + j] = in[0][j * 5 + i];
             return std::vector{y};
           }},
      {.name = "contiguous_empty",
       .inputs = {real({0, 5})},
       .call = dense,
       .reference =
           [](const std::vector<Array>&) {
             return std::vector{Array({5, 0})};
           }},
      // The gradient goes back through the cast into the narrow type.
      {.name = "cast_gradient",
       .inputs = {real({3, 5})},
       .call = squared,
       .reference =
           [](const std::vector<Array>& in) {
             Array y = in[0];
             for (double& v : y.values) v *= v;
             return std::vector{y};
           }},
      {.name = "cast_empty",
       .inputs = {real({0})},
       .call = [](auto in) { return std::vector{cast(in[0], DType::i32)}; },
       .reference = same,
       .differentiable = false},
  };
}

}  // namespace

OpCases copy_cases() {
  OpCases cases;
  for (const auto& group : {floats_to_integers(), rounding(), integers(), copies()})
    cases.good.insert(cases.good.end(), group.begin(), group.end());
  cases.bad = {{"clone", [] { clone(Tensor()); },
                "clone: the tensor is undefined. Pass one that was computed."},
               {"cast", [] { cast(Tensor(), DType::f32); },
                "cast: input 0 is undefined. Pass a tensor that was computed."}};
  return cases;
}

}  // namespace plimsoll
