// The weighted sum of tensors that come one after another, in a fixed tree: neighbours are added to
// blocks, and blocks in a balanced binary tree, as sum_parts adds the parts of several ranks. So a
// rank that has half of the tensors adds half of the same tree.
//
//   // 8 tensors in 4 blocks: ((g0 + g1) + (g2 + g3)) + ((g4 + g5) + (g6 + g7)), each times weight
//   accumulate_tree({pair, four, sum}, g, weight, part, {.block = 2});       // for part 0 ... 6
//   accumulate_tree({pair, four, sum}, g, weight, part, {.block = 2, .last = true});
#pragma once

#include <span>

#include "core/tensor/tensor.h"

namespace plimsoll {

struct TreeSum {
  int64_t block = 1;  // tensors that are added one after another, from the left
  bool last = false;  // none comes after it: what is missing counts as zeros
  bool operator==(const TreeSum&) const = default;
};

// In place, for 2^l blocks: levels are l + 1 tensors of x's shape, in f32, or f64 for an f64 x. Of
// them number i < l holds a sum of 2^i blocks that waits for its right neighbour; the last holds
// the block under way where a left neighbour waits, and in the end the whole sum. `part`, i64 [1],
// is the number of x from 0 and says what is to be done: so all but the last are one program.
// weight: f64 []; an x of weight 0 is not looked at, so it may hold NaN. Errors: ShapeError,
// DTypeError, ValueError for block < 1, IndexError for a part that is in no block; StateError as
// for every op that writes in place.
void accumulate_tree(std::span<const Tensor> levels, const Tensor& x, const Tensor& weight,
                     const Tensor& part, const TreeSum& options);

}  // namespace plimsoll
