// Rotary position embedding: pairs of features turn by an angle that grows with the position.
//
//   const RopeTables tables = rope_tables(T, D);                  // once: [T, D / 2] each
//   Tensor q2 = rope(q, tables.cos, tables.sin);                  // q [B, T, H, D]
#pragma once

#include "ops/random/full/full.h"

namespace plimsoll {

struct RopeAttrs {
  bool interleaved = false;  // pairs are (0, 1), (2, 3), ...; else (0, R / 2), (1, R / 2 + 1), ...
  bool operator==(const RopeAttrs&) const = default;
};

struct RopeTables {
  Tensor cos, sin;  // [positions, width / 2]
};

// cos and sin of position * base^(-2 i / width) for pair i, computed in f64. Positions count from
// `first`. ValueError unless width is even and positive, positions >= 0 and base > 0.
RopeTables rope_tables(int64_t positions, int64_t width, double base = 10000, int64_t first = 0,
                       Placement placement = {});

// x [B, T, H, D] with angles [T, R / 2], or [B, T, R / 2] where each sequence has positions of its
// own (index_select from tables): of the first R features, R <= D, the pair (a, b) becomes
// (a cos - b sin, a sin + b cos); the others stay. cos and sin are constants of x's dtype, or f32
// beside 16 bits: no gradient flows to them. Errors: ShapeError, DTypeError. Source: Su et al.,
// "RoFormer", arXiv 2104.09864.
Tensor rope(const Tensor& x, const Tensor& cos, const Tensor& sin, const RopeAttrs& attrs = {});

}  // namespace plimsoll
