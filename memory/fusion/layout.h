// How an operand lies beside the elements that a fused instruction runs over, seen as a matrix of
// `rows` rows and `columns` columns. A tile of that matrix is then a tile of each operand.
//
//   x [B, T, D]   full: element (r, c) at r * columns + c
//   bias [D]      column: every row reads the same; the matrix has D columns
//   scale [B, 1, 1]   row: every column reads the same; the matrix has T * D columns
#pragma once

#include "core/program.h"

namespace plimsoll::fusion {

struct Layout {
  enum class Kind : uint8_t {
    full,    // one element for each
    column,  // one for each column
    row,     // one for each row
    scalar,  // one for all
    other    // none of these: such an instruction stays as it is
  };
  Kind kind = Kind::other;
  int64_t columns = 0;  // that the matrix must have; 0: any number
};

// Of an operand that broadcasts to `shape`.
Layout layout_of(const Operand& operand, const Shape& shape);

// A tile is some rows with all of their columns, or a part of one row: about 4,096 elements, 16
// KiB of each f32 operand; up to 16,384 where whole rows ask for it, or one row. It begins a
// multiple of kUnit elements after the first one. The vector loops of kernels leave the last few
// elements of a range to other code, which may round differently: so every element falls to the
// same code as without tiles, but for operands that broadcast, whose loops end with each row:
// their formulas round once, or alike in both.
constexpr int64_t kUnit = 64;
struct TileSize {
  int64_t rows = 0, columns = 0;  // 0: there is no such tile
};
TileSize tile_size(int64_t rows, int64_t columns, bool whole_rows);

}  // namespace plimsoll::fusion
