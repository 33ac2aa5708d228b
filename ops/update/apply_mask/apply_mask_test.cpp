#include "ops/update/apply_mask/apply_mask.h"

#include "ops/pointwise/copy/copy.h"
#include "ops/random/full/full.h"
#include "tests/support/op_case.h"

namespace plimsoll {
namespace {

// Inputs: x, and a mask as integers 0 and 1.
OpCase masks(const char* name, InputSpec x, InputSpec mask) {
  return {.name = name,
          .inputs = {x, mask},
          .call =
              [](auto in) {
                const Tensor y = clone(in[0].detach());
                apply_mask(y, cast(in[1], DType::boolean));
                return std::vector{y};
              },
          .reference =
              [](const std::vector<Array>& in) {
                Array y = in[0];
                for (int64_t i = 0; i < count(y.shape); ++i)
                  if (in[1][i] == 0) y[i] = 0;
                return std::vector{y};
              },
          .differentiable = false};
}

OpCase masks_as(const char* name, DType dtype) {
  OpCase c = masks(name, index({3, 5}, 2), index({3, 5}, 2));
  c.call = [dtype](auto in) {
    const Tensor y = cast(in[0], dtype);  // the inputs are integers anyway
    apply_mask(y, cast(in[1], DType::boolean));
    return std::vector{y};
  };
  c.dtypes = {DType::f32};
  return c;
}

}  // namespace

OpCases apply_mask_cases() {
  return {.good = {masks("matrix", real({5, 7}), index({5, 7}, 2)),
                   masks("filters", real({3, 5, 5, 2}), index({3, 5, 5, 2}, 2)),
                   masks("hides_anything", given({4}, {kNaN, kInf, -1, 2}),
                         given_index({4}, {0, 0, 0, 1})),
                   masks("scalar", real({}), given_index({}, {0})),
                   masks("empty", real({0, 3}), index({0, 3}, 2)), masks_as("i32", DType::i32),
                   masks_as("u8", DType::u8), masks_as("bool", DType::boolean),
                   masks("many_pieces", real({40001}), index({40001}, 2))},
          .bad = {{"type", [] { apply_mask(ones({2}), ones({2})); },
                   "apply_mask: the mask is not of type bool: f32 [2] on cpu. Compare it first."},
                  {"shape",
                   [] {
                     apply_mask(ones({2}), ones({2, 1}, {.dtype = DType::boolean}));
                   },
                   "apply_mask: the mask has another shape: f32 [2] on cpu and bool [2, 1] on cpu. "
                   "Give one value for each element."}}};
}

}  // namespace plimsoll
