#include "ops/norm/rms_norm/rms_norm.h"

#include "ops/pointwise/copy/copy.h"
#include "ops/random/full/full.h"
#include "tests/support/op_case.h"

namespace plimsoll {
namespace {

std::vector<Array> reference(const std::vector<Array>& in, double eps) {
  Array y = in[0];
  const int64_t n = in[1].size(0);
  for (int64_t row = 0; n > 0 && row < count(y.shape) / n; ++row) {
    double squares = 0;
    for (int64_t i = 0; i < n; ++i) squares += y[row * n + i] * y[row * n + i];
    for (int64_t i = 0; i < n; ++i)
      y[row * n + i] *= in[1][i] / std::sqrt(squares / static_cast<double>(n) + eps);
  }
  return {y};
}

// gamma is given in the type that rms_norm asks for: f32 for 16-bit data.
OpCase rows(const char* name, InputSpec x, double eps = 1e-6) {
  return {.name = name,
          .inputs = {x, real({x.shape.back()}, 0.5, 2)},
          .call =
              [eps](auto in) {
                const DType wide = in[0].dtype() == DType::f64 ? DType::f64 : DType::f32;
                return std::vector{rms_norm(in[0], cast(in[1], wide), eps)};
              },
          .reference = [eps](const std::vector<Array>& in) { return reference(in, eps); }};
}

}  // namespace

OpCases rms_norm_cases() {
  return {
      .good = {rows("matrix", real({5, 7})), rows("three_axes", real({2, 3, 16}, -2, 3)),
               rows("vector", real({9})), rows("wide_row", real({3, 67})),
               // Enough rows for several partial sums.
               shifted(rows("several_pieces", real({8})), {1030, 8}),
               rows("large_eps", real({4, 6}), 0.5),
               // Rows that a block of a GPU holds in two goes, and those that it must read again.
               only_in({DType::f32, DType::bf16}, rows("two_goes", real({2, 2052}))),
               only_in({DType::f32, DType::bf16}, rows("odd_and_long", real({2, 1031}))),
               rows("no_eps", real({4, 6}, 1, 2), 0),
               // The gradient of a row of one is next to nothing beside eps: large here.
               rows("one_column", real({3, 1}), 0.3), rows("no_rows", real({0, 4})),
               rows("no_columns", real({3, 0}))},
      .bad = {{"sizes",
               [] {
                 rms_norm(ones({2, 3}), ones({2}));
               },
               "rms_norm: gamma does not fit: [2] for x [2, 3]. Give it the size of the last "
               "axis."},
              {"scalar", [] { rms_norm(ones({}), ones({1})); },
               "rms_norm: gamma does not fit: [1] for x []. Give it the size of the last axis."},
              {"narrow_gamma",
               [] {
                 const Placement bf16{.dtype = DType::bf16};
                 rms_norm(ones({2, 3}, bf16), ones({3}, bf16));
               },
               "rms_norm: gamma has the wrong type: got bf16 for bf16 data. Give it in f32."},
              {"integers",
               [] {
                 rms_norm(ones({2, 3}, {.dtype = DType::i32}), ones({3}));
               },
               "rms_norm: a floating type is needed: got i32 [2, 3] on cpu. Cast it first."},
              {"eps",
               [] {
                 rms_norm(ones({2, 3}), ones({3}), -1);
               },
               "rms_norm: eps is not a number from 0: -1. Use 1e-5 or so."}}};
}

}  // namespace plimsoll
