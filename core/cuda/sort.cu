#include "core/cuda/sort.h"

#include <bit>
#include <utility>

#include "core/cuda/launch.cuh"

namespace plimsoll::cuda {
namespace {

constexpr int kDigits = static_cast<int>(kSortDigits), kBits = 4;
constexpr int kItems = static_cast<int>(kSortTile) / kThreads;  // neighbours, of one thread
constexpr int kShare = kThreads / kWarp;                        // threads for whom a lane adds up
constexpr int kDigitsOfWarp = kDigits / (kThreads / kWarp);

using Counts = uint32_t[kDigits][kThreads];

__device__ int digit_of(uint32_t key, int shift) {
  return static_cast<int>(key >> shift & (kDigits - 1));
}

// Calls f(index, key) for the keys of this thread, in order.
template <class F>
__device__ void for_each_key(const uint32_t* keys, int64_t n, F&& f) {
  const int64_t begin = first_index() * kItems;
  for (int64_t i = begin; i < begin + kItems && i < n; ++i) f(i, keys[i]);
}

// How many keys of each digit every thread of the block has.
__device__ void count_digits(const uint32_t* keys, int64_t n, int shift, Counts& counts) {
  const int t = static_cast<int>(threadIdx.x);
  for (int d = 0; d < kDigits; ++d) counts[d][t] = 0;
  for_each_key(keys, n, [&](int64_t, uint32_t key) { ++counts[digit_of(key, shift)][t]; });
  __syncthreads();
}

// totals [digit, tile]
__global__ void count_kernel(const uint32_t* keys, int64_t n, int shift, uint32_t* totals) {
  __shared__ Counts counts;
  count_digits(keys, n, shift, counts);
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  for (int d = warp * kDigitsOfWarp; d < (warp + 1) * kDigitsOfWarp; ++d) {
    uint32_t total = 0;
    for (int j = 0; j < kShare; ++j) total += counts[d][lane * kShare + j];
    total = over_warp(total, Plus());
    if (lane == 0) totals[static_cast<int64_t>(d) * gridDim.x + blockIdx.x] = total;
  }
}

// Replaces each by the sum of all before it; one block.
__global__ void scan_kernel(uint32_t* totals, int64_t n) {
  __shared__ uint32_t sums[kThreads];
  const int t = static_cast<int>(threadIdx.x);
  uint32_t carried = 0;
  for (int64_t start = 0; start < n; start += kThreads) {
    const uint32_t own = start + t < n ? totals[start + t] : 0;
    uint32_t total = own;
    sums[t] = total;
    for (int distance = 1; distance < kThreads; distance *= 2) {  // Hillis and Steele
      __syncthreads();
      const uint32_t before = t >= distance ? sums[t - distance] : 0;
      __syncthreads();
      sums[t] = total += before;
    }
    __syncthreads();
    if (start + t < n) totals[start + t] = carried + total - own;
    carried += sums[kThreads - 1];
    __syncthreads();
  }
}

// Without `positions` a key's position is its index. starts [digit, tile]
__global__ void move_kernel(const uint32_t* keys, const uint32_t* positions, int64_t n, int shift,
                            const uint32_t* starts, uint32_t* sorted_keys,
                            uint32_t* sorted_positions) {
  __shared__ Counts counts;
  count_digits(keys, n, shift, counts);
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  for (int d = warp * kDigitsOfWarp; d < (warp + 1) * kDigitsOfWarp; ++d) {
    uint32_t own = 0;
    for (int j = 0; j < kShare; ++j) own += counts[d][lane * kShare + j];
    uint32_t total = own;
    for (int distance = 1; distance < kWarp; distance *= 2) {
      const uint32_t before = __shfl_up_sync(0xffffffffu, total, distance);
      if (lane >= distance) total += before;
    }
    uint32_t next = starts[static_cast<int64_t>(d) * gridDim.x + blockIdx.x] + total - own;
    for (int j = 0; j < kShare; ++j) {
      uint32_t& count = counts[d][lane * kShare + j];
      next += count;
      count = next - count;
    }
  }
  __syncthreads();
  const int t = static_cast<int>(threadIdx.x);
  for_each_key(keys, n, [&](int64_t i, uint32_t key) {
    const uint32_t to = counts[digit_of(key, shift)][t]++;
    sorted_keys[to] = key;
    sorted_positions[to] = positions ? positions[i] : static_cast<uint32_t>(i);
  });
}

}  // namespace

Sorted sort_keys(std::byte* scratch, int64_t n, int64_t limit) {
  constexpr int64_t most = int64_t{1} << 32;
  check<ShapeError>(n <= most && limit <= most, "cuda: too many elements to be sorted: ", n,
                    " with keys below ", limit, ". At most ", most, " fit.");
  uint32_t* keys = keys_to_sort(scratch);
  uint32_t *other_keys = keys + n, *positions = keys + 2 * n, *other_positions = keys + 3 * n;
  uint32_t* totals = keys + 4 * n;
  const int64_t tiles = (n + kSortTile - 1) / kSortTile;
  const int bits = std::max(1, static_cast<int>(std::bit_width(static_cast<uint64_t>(limit - 1))));
  for (int shift = 0; shift < bits && n > 0; shift += kBits) {
    launch(count_kernel, tiles, kThreads, keys, n, shift, totals);
    launch(scan_kernel, 1, kThreads, totals, kSortDigits * tiles);
    launch(move_kernel, tiles, kThreads, keys, shift == 0 ? nullptr : positions, n, shift, totals,
           other_keys, other_positions);
    std::swap(keys, other_keys);
    std::swap(positions, other_positions);
  }
  return {keys, positions};
}

}  // namespace plimsoll::cuda
