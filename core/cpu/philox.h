// random_words() of core/base/philox.h for many blocks side by side, one to a lane: the same
// numbers, about four times as fast with AVX-512.
//
//   uint32_t words[64];
//   draw_words(key, stream, first / 4, 64, words);     // of elements first ... first + 63
#pragma once

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <utility>

#include "core/base/philox.h"
#include "core/cpu/vector.h"

namespace plimsoll {
namespace philox_detail {

// 64-bit lanes that hold a word of 32 bits each; what lies above it is of no account.
using Lanes = Vector<uint64_t>;
constexpr int kBlocks = kLanes<uint64_t>, kTogether = 2;  // vectors of blocks, to fill the pipeline
constexpr uint64_t kWord = 0xffffffff;

// The products of words. Compilers do not find the instruction by themselves.
inline Lanes times(Lanes x, uint32_t factor) {
#if defined(__AVX512F__)
  // Without the mask of all lanes GCC 12 warns of a register left undefined (bug 105593).
  return reinterpret_cast<Lanes>(
      _mm512_maskz_mul_epu32(0xff, reinterpret_cast<__m512i>(x), _mm512_set1_epi64(factor)));
#elif defined(__AVX2__)
  return reinterpret_cast<Lanes>(
      _mm256_mul_epu32(reinterpret_cast<__m256i>(x), _mm256_set1_epi64x(factor)));
#else
  return (x & kWord) * uint64_t{factor};
#endif
}

// Pairs of words from two vectors, in turn: a0 b0 a1 b1 ...
template <size_t... kLane>
void store_in_turn(Lanes a, Lanes b, uint32_t* to, std::index_sequence<kLane...>) {
  constexpr size_t n = sizeof...(kLane);
  store(to, __builtin_shufflevector(a, b, (kLane / 2 + kLane % 2 * n)...));
  store(to + 2 * n, __builtin_shufflevector(a, b, (n / 2 + kLane / 2 + kLane % 2 * n)...));
}

inline void draw_batch(uint64_t key, uint64_t stream, uint64_t block, uint32_t* words) {
  Lanes c[kTogether][4] = {};
  for (int v = 0; v < kTogether; ++v) {
    uint64_t blocks[kBlocks];
    for (int lane = 0; lane < kBlocks; ++lane) blocks[lane] = block + v * kBlocks + lane;
    c[v][0] = load<Lanes>(blocks);
    c[v][1] = c[v][0] >> 32;
    c[v][2] = Lanes{} + stream;
    c[v][3] = Lanes{} + (stream >> 32);
  }
  auto k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
#pragma GCC unroll 10
  for (int round = 0; round < 10; ++round) {
#pragma GCC unroll 2
    for (int v = 0; v < kTogether; ++v) {
      const Lanes p0 = times(c[v][0], 0xD2511F53u), p1 = times(c[v][2], 0xCD9E8D57u);
      c[v][0] = (p1 >> 32) ^ c[v][1] ^ uint64_t { k0 };
      c[v][1] = p1;
      c[v][2] = (p0 >> 32) ^ c[v][3] ^ uint64_t { k1 };
      c[v][3] = p0;
    }
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  for (int v = 0; v < kTogether; ++v)
    store_in_turn((c[v][0] & kWord) | c[v][1] << 32, (c[v][2] & kWord) | c[v][3] << 32,
                  words + v * 4 * kBlocks, std::make_index_sequence<kBlocks>());
}

}  // namespace philox_detail

// n words of the blocks from `first_block` on; n is rounded up to whole blocks of four, for which
// `words` has room.
inline void draw_words(uint64_t key, uint64_t stream, uint64_t first_block, int64_t n,
                       uint32_t* words) {
  constexpr int64_t batch = 4 * philox_detail::kBlocks * philox_detail::kTogether;
  int64_t k = 0;
  for (; k + batch <= n; k += batch)
    philox_detail::draw_batch(key, stream, first_block + static_cast<uint64_t>(k / 4), words + k);
  for (; k < n; k += 4) {
    const auto four = random_words(key, stream, first_block + static_cast<uint64_t>(k / 4));
    std::copy(four.begin(), four.end(), words + k);
  }
}

}  // namespace plimsoll
