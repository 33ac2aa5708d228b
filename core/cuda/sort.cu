#include "core/cuda/sort.h"

#include "core/cuda/launch.cuh"

namespace plimsoll::cuda {
namespace {

// Puts every pair of entries whose numbers differ in the bits of `mask` into its order.
__global__ void order_pairs(uint64_t* entries, int64_t n, int64_t mask) {
  for (int64_t i = first_index(); i < n; i += total_threads()) {
    const int64_t j = i ^ mask;
    if (j <= i || j >= n || entries[i] <= entries[j]) continue;
    const uint64_t larger = entries[i];
    entries[i] = entries[j];
    entries[j] = larger;
  }
}

}  // namespace

// Bitonic sorting (Batcher, AFIPS 1968), in the form in which the smaller one always comes first:
// sorted stretches of half a size are merged into one, the second read backwards. So entries beyond
// the last one, were there any, would never move, and n need not be a power of two.
void sort_entries(uint64_t* entries, int64_t n, int64_t limit) {
  constexpr int64_t most = int64_t{1} << 32;
  check<ShapeError>(n <= most && limit <= most, "cuda: too many elements to be sorted: ", n,
                    " with keys below ", limit, ". At most ", most, " fit.");
  for (int64_t size = 2; size / 2 < n; size *= 2) {
    launch(order_pairs, blocks_for(n), kThreads, entries, n, size - 1);
    for (int64_t apart = size / 4; apart > 0; apart /= 2)
      launch(order_pairs, blocks_for(n), kThreads, entries, n, apart);
  }
}

}  // namespace plimsoll::cuda
