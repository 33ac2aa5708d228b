#include "ops/norm/layer_norm/layer_norm.h"

#include "ops/pointwise/copy/copy.h"
#include "ops/random/full/full.h"
#include "tests/support/op_case.h"

namespace plimsoll {
namespace {

std::vector<Array> reference(const std::vector<Array>& in, double eps) {
  const Array& x = in[0];
  Array y(x.shape);
  const int64_t n = in[1].size(0);
  for (int64_t row = 0; n > 0 && row < count(x.shape) / n; ++row) {
    long double mean = 0, variance = 0;  // so that the reference is exact far away from zero
    for (int64_t i = 0; i < n; ++i) mean += x[row * n + i];
    mean /= n;
    for (int64_t i = 0; i < n; ++i) variance += (x[row * n + i] - mean) * (x[row * n + i] - mean);
    variance /= n;
    for (int64_t i = 0; i < n; ++i) {
      const long double normal = (x[row * n + i] - mean) / std::sqrt(variance + eps);
      y[row * n + i] = static_cast<double>(normal * in[1][i] + in[2][i]);
    }
  }
  return {y};
}

// gamma and beta are given in the type that layer_norm asks for: f32 for 16-bit data.
OpCase rows(const char* name, InputSpec x, double eps = 1e-5) {
  const int64_t n = x.shape.back();
  return {.name = name,
          .inputs = {x, real({n}, 0.5, 2), real({n})},
          .call =
              [eps](auto in) {
                const DType wide = in[0].dtype() == DType::f64 ? DType::f64 : DType::f32;
                return std::vector{layer_norm(in[0], cast(in[1], wide), cast(in[2], wide), eps)};
              },
          .reference = [eps](const std::vector<Array>& in) { return reference(in, eps); }};
}

}  // namespace

OpCases layer_norm_cases() {
  return {
      .good = {rows("matrix", real({5, 7})), rows("three_axes", real({2, 3, 16}, -2, 3)),
               rows("vector", real({9})), rows("wide_row", real({3, 67})),
               // Enough rows for several partial sums.
               shifted(rows("several_pieces", real({8})), {1030, 8}),
               rows("large_eps", real({4, 6}), 0.5),
               // Rows that a block of a GPU holds in two goes, and those that it must read again.
               only_in({DType::f32, DType::bf16}, rows("two_goes", real({2, 2052}))),
               only_in({DType::f32, DType::bf16}, rows("odd_and_long", real({2, 1031}))),
               // The gradient of a row of one is exactly zero: in f32 nothing is left to be
               // relative to.
               only_in({DType::f64}, rows("one_column", real({3, 1}))),
               rows("no_rows", real({0, 4})), rows("no_columns", real({3, 0})),
               // Not for 16 bits, which cannot tell these values apart; and 1e4 with a spread of 1
               // has four digits less to give even in f64.
               only_in({DType::f64, DType::f32}, rows("offset", real({3, 48}, 9999, 10001)))},
      .bad = {
          {"sizes",
           [] {
             layer_norm(ones({2, 3}), ones({2}), ones({2}));
           },
           "layer_norm: gamma and beta do not fit: [2] and [2] for x [2, 3]. Give both the size "
           "of the last axis."},
          {"scalar", [] { layer_norm(ones({}), ones({1}), ones({1})); },
           "layer_norm: gamma and beta do not fit: [1] and [1] for x []. Give both the size of "
           "the last axis."},
          {"narrow_gamma",
           [] {
             const Placement bf16{.dtype = DType::bf16};
             layer_norm(ones({2, 3}, bf16), ones({3}, bf16), ones({3}, bf16));
           },
           "layer_norm: gamma and beta have the wrong type: got bf16 and bf16 for bf16 data. "
           "Give them in f32."},
          {"integers",
           [] {
             layer_norm(ones({2, 3}, {.dtype = DType::i32}), ones({3}), ones({3}));
           },
           "layer_norm: a floating type is needed: got i32 [2, 3] on cpu. Cast it first."},
          {"eps",
           [] {
             layer_norm(ones({2, 3}), ones({3}), ones({3}), -1);
           },
           "layer_norm: eps is not a number from 0: -1. Use 1e-5 or so."}}};
}

}  // namespace plimsoll
