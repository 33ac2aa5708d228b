// Which threads of a GPU share a row of n elements: those of one block, each of which takes packs
// of neighbours. Kernels compiled before (ops/rows.cuh) and at run time (ops/element_rows.cuh) give
// the same elements to the same threads, so that their sums over a row have the same bits.
#pragma once

#include <cstdint>

namespace plimsoll {

constexpr int kRowPack = 4;  // 16 bytes of f32

// Whole warps of 32, a thread for each pack where these are not more than 256.
constexpr int row_threads(int64_t n) {
  const int64_t packs = (n + kRowPack - 1) / kRowPack, warps = (packs + 31) / 32;
  return 32 * static_cast<int>(warps < 1 ? 1 : warps > 8 ? 8 : warps);
}

}  // namespace plimsoll
