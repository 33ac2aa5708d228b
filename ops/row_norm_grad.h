// How the gradients of layer_norm and rms_norm are cut on a GPU (ops/row_norm_grad.cuh): what a
// rule for workspace must know, in every build.
#pragma once

#include <span>

#include "ops/columns.h"

namespace plimsoll::cuda {

// Rows that a block holds in registers: each thread kHeld columns, or packs of kTogether.
constexpr int kHeld = 2, kHeldThreads = 512;
constexpr int64_t kMostHeld = int64_t{kHeld} * kHeldThreads * 4;

// Blocks that share the rows: a few for each multiprocessor of a large GPU.
inline int64_t row_blocks(int64_t rows) { return std::min<int64_t>(rows, int64_t{132} * 4); }

// What blocks leave of `sums` sums of each column, f32 [blocks, sums, columns], and what adds it up.
inline int64_t left_bytes(int64_t rows, int64_t columns, int sums) {
  return block_bytes(row_blocks(rows) * sums * columns * int64_t{sizeof(float)});
}
inline int64_t block_sums_bytes(int64_t rows, int64_t columns, int sums) {
  return left_bytes(rows, columns, sums) + ColumnCut(row_blocks(rows), columns).sums_bytes(sums);
}

// Bytes of workspace for `sums` sums of each column: where rows are held, and where they are not
// and the elements themselves are added up.
inline int64_t row_norm_grad_bytes(int64_t rows, int64_t columns, int sums) {
  return std::max(columns <= kMostHeld ? block_sums_bytes(rows, columns, sums) : 0,
                  ColumnCut(rows, columns).sums_bytes(sums));
}

// The second stage: one or two totals, f32 [columns]. `workspace` begins with what the
// row_blocks(rows) blocks left, and has block_sums_bytes(). What is added to what depends on the
// sizes alone.
void add_block_sums(std::span<std::byte> workspace, int64_t rows, int64_t columns,
                    std::span<float* const> totals);

}  // namespace plimsoll::cuda
