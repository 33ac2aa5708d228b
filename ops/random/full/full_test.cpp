#include "ops/random/full/full.h"

#include "tests/support/op_case.h"

namespace plimsoll {
namespace {

OpCase constant(const char* name, Shape shape, double value, DType dtype, double expected) {
  return {.name = name,
          .inputs = {},
          .call = [=](auto) { return std::vector{full(shape, value, {.dtype = dtype})}; },
          .reference =
              [=](const std::vector<Array>&) {
                Array y(shape);
                for (double& v : y.values) v = expected;
                return std::vector{y};
              },
          .differentiable = false,
          .dtypes = {dtype}};
}

}  // namespace

OpCases full_cases() {
  const double nan = std::nan(""), infinity = HUGE_VAL;
  OpCases cases{
      .good = {constant("f64", {2, 3}, 0.1, DType::f64, 0.1),
               constant("f32", {2, 3}, 0.1, DType::f32, static_cast<double>(0.1f)),
               constant("f16", {5}, 65519.9, DType::f16, 65504),
               constant("f16_overflow", {5}, 65520, DType::f16, infinity),
               constant("bf16", {1}, 1.00390625, DType::bf16, 1),  // a tie: to even
               constant("nan", {3}, nan, DType::f32, nan),
               constant("scalar", {}, -7, DType::i64, -7),
               constant("truncates", {4}, -2.9, DType::i32, -2),
               constant("clamps_above", {4}, 1e30, DType::i64, 0x1p63),
               constant("clamps_below", {4}, -1, DType::u8, 0),
               constant("nan_to_integer", {4}, nan, DType::i32, 0),
               constant("true", {4}, 0.25, DType::boolean, 1),
               constant("false", {4}, 0, DType::boolean, 0),
               constant("empty", {3, 0, 2}, 1, DType::f32, 1),
               constant("many_pieces", {40001}, 3, DType::u8, 3)},
      .bad = {{"negative",
               [] {
                 zeros({2, -1});
               },
               "shape: a size is negative: [2, -1]. Use sizes of 0 or more."},
              {"overflow",
               [] {
                 ones({int64_t{1} << 40, int64_t{1} << 40});
               },
               "shape: 1099511627776 * 1099511627776 does not fit in 63 bits. Use smaller sizes."},
              {"nine axes",
               [] {
                 zeros({1, 1, 1, 1, 1, 1, 1, 1, 1});
               },
               "shape: more than 8 axes were given. Merge some of them with reshape."}}};
  for (const double value : {0.0, 1.0}) {
    OpCase c = constant(value == 0 ? "zeros" : "ones", {2, 2}, value, DType::f32, value);
    c.call = [value](auto) { return std::vector{value == 0 ? zeros({2, 2}) : ones({2, 2})}; };
    cases.good.push_back(c);
  }
  return cases;
}

}  // namespace plimsoll
