// How the gradients of layer_norm and rms_norm are cut on a GPU (ops/row_norm_grad.cuh): what a
// rule for workspace must know, in every build.
#pragma once

#include "ops/columns.h"

namespace plimsoll::cuda {

// Rows that a block holds in registers: each thread kHeld columns, or packs of kTogether.
constexpr int kHeld = 2, kHeldThreads = 512;
constexpr int64_t kMostHeld = int64_t{kHeld} * kHeldThreads * 4;

// Blocks that share the rows, each with sums of its own.
inline int64_t held_blocks(int64_t rows) { return std::min<int64_t>(rows, int64_t{132} * 4); }

// Bytes of workspace for `sums` sums of each column: those of blocks in f32 and what adds them up,
// or where rows are not held what adds up the elements themselves.
inline int64_t row_norm_grad_bytes(int64_t rows, int64_t columns, int sums) {
  const int64_t blocks = held_blocks(rows);
  const int64_t held = block_bytes(blocks * sums * columns * int64_t{sizeof(float)}) +
                       ColumnCut(blocks, columns).sums_bytes(sums);
  return std::max(columns <= kMostHeld ? held : 0, ColumnCut(rows, columns).sums_bytes(sums));
}

}  // namespace plimsoll::cuda
