// Sums over the rows of a matrix on a GPU, as part of a kernel that has each row in registers
// (ops/row_norm_grad.cuh, memory/fusion/source_rows.cpp): blocks take the rows in turn and leave
// sums of their own, f32 [blocks, sums, columns]; the second stage, here, adds those up. What is
// added to what depends on the sizes alone.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace plimsoll {

// Blocks that share the rows: a few for each multiprocessor of a large GPU.
inline int64_t row_blocks(int64_t rows) { return std::min<int64_t>(rows, int64_t{132} * 4); }

// Rows of generated kernels with sums: up to there each thread has four neighbours, in such a
// kernel as in the op's own, and so the same bits.
constexpr int64_t kMostSummedColumns = 1024;

// One or two totals: f32 [columns], or nullptr where nobody wants it. `workspace` begins with what
// the row_blocks(rows) blocks left, and has cuda::block_sums_bytes() (ops/row_norm_grad.h). Null in
// builds without CUDA.
[[gnu::weak]] void add_block_sums(std::span<std::byte> workspace, int64_t rows, int64_t columns,
                                  std::span<float* const> totals);

}  // namespace plimsoll
