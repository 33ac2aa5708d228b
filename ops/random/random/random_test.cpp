#include "ops/random/random/random.h"

#include "core/base/philox.h"
#include "tests/support/op_case.h"

namespace plimsoll {
namespace {

constexpr uint64_t kKey = 0x0123456789abcdef;

// Element i of a stream of words, in the order in which the blocks of four come.
uint32_t word(int64_t i) {
  return random_words(kKey, 0, static_cast<uint64_t>(i) / 4)[static_cast<size_t>(i % 4)];
}

OpCase draws(const char* name, Shape shape, DType dtype, double a, double b, bool gauss) {
  return {.name = name,
          .inputs = {},
          .call =
              [=](auto) {
                const Placement placement{.dtype = dtype};
                return std::vector{gauss ? normal(shape, a, b, kKey, placement)
                                         : uniform(shape, a, b, kKey, placement)};
              },
          .reference =
              [=](const std::vector<Array>&) {
                Array y(shape);
                for (int64_t i = 0; i < count(shape); ++i) {
                  const double radius = (word(i / 2 * 2) + 1.0) / 4294967296.0;
                  const double turn = 2 * M_PI * (word(i / 2 * 2 + 1) / 4294967296.0);
                  const double circle = i % 2 == 0 ? std::cos(turn) : std::sin(turn);
                  y[i] = gauss ? a + b * std::sqrt(-2 * std::log(radius)) * circle
                               : a + (b - a) * (word(i) / 256 / 16777216.0);
                }
                return std::vector{y};
              },
          .differentiable = false,
          .dtypes = {dtype}};
}

}  // namespace

OpCases random_cases() {
  return {
      .good = {draws("uniform_f64", {5, 7}, DType::f64, -2, 3, false),
               draws("uniform_f32", {5, 7}, DType::f32, -2, 3, false),
               draws("uniform_f16", {5, 7}, DType::f16, -2, 3, false),
               draws("uniform_bf16", {5, 7}, DType::bf16, -2, 3, false),
               draws("uniform_constant", {5}, DType::f32, 3, 3, false),
               draws("uniform_scalar", {}, DType::f32, 0, 1, false),
               draws("uniform_empty", {2, 0}, DType::f32, 0, 1, false),
               draws("uniform_many_pieces", {40001}, DType::f32, 0, 1, false),
               draws("normal_f64", {5, 7}, DType::f64, 1, 2, true),
               draws("normal_f32", {5, 7}, DType::f32, 1, 2, true),
               draws("normal_f16", {5, 7}, DType::f16, 1, 2, true),
               draws("normal_bf16", {5, 7}, DType::bf16, 1, 2, true),
               draws("normal_constant", {5}, DType::f32, 3, 0, true),
               draws("normal_empty", {0}, DType::f32, 0, 1, true),
               draws("normal_many_pieces", {20003}, DType::f32, 0, 1, true)},
      .bad = {
          {"uniform order", [] { uniform({2}, 1, 0, 1); },
           "uniform: the range is empty or endless: 1 to 0. Use numbers with low <= high and a "
           "finite difference."},
          {"uniform endless", [] { uniform({2}, 0, HUGE_VAL, 1); },
           "uniform: the range is empty or endless: 0 to inf. Use numbers with low <= high and "
           "a finite difference."},
          {"uniform width", [] { uniform({2}, -1.5e308, 1.5e308, 1, {.dtype = DType::f64}); },
           "uniform: the range is empty or endless: -1.5e+308 to 1.5e+308. Use numbers with low "
           "<= high and a finite difference."},
          {"uniform integers", [] { uniform({2}, 0, 1, 1, {.dtype = DType::i64}); },
           "uniform: a floating type is needed: got i64. Draw it in f32 and cast."},
          {"normal std", [] { normal({2}, 0, -1, 1); },
           "normal: no such distribution: mean 0, std -1. Use finite numbers with std >= 0."},
          {"normal NaN", [] { normal({2}, std::nan(""), 1, 1); },
           "normal: no such distribution: mean nan, std 1. Use finite numbers with std >= "
           "0."},
          {"normal integers", [] { normal({2}, 0, 1, 1, {.dtype = DType::u8}); },
           "normal: a floating type is needed: got u8. Draw it in f32 and cast."},
          {"shape", [] { normal({-2}, 0, 1, 1); },
           "shape: a size is negative: [-2]. Use sizes of 0 or more."}}};
}

}  // namespace plimsoll
