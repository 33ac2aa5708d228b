// The random choices of dropout, for every op that drops: whether an element stays is a pure
// function of (seed, step, site, element), so nobody stores a mask.
//
//   const DropoutBits bits(p, site, key.as<int64_t>());     // the key is {seed, step}
//   bits.draw(first / 4, n, words);                         // elements first ... first + n - 1
//   y[i] = bits.keeps(words[i]) ? x[i] / (1 - p) : 0;
#pragma once

#include <algorithm>
#include <cmath>

#include "core/philox.h"

namespace plimsoll {

class DropoutBits {
 public:
  // The seed and the site make one key; the step is the stream. Without a key nothing may be drawn.
  DropoutBits(double p, uint64_t site, const int64_t* seed_and_step) {
    if (!seed_and_step) return;
    constexpr uint64_t kDropoutStream = 0x64726f70;
    const auto words = random_words(static_cast<uint64_t>(seed_and_step[0]), kDropoutStream, site);
    key_ = uint64_t{words[0]} << 32 | words[1];
    stream_ = static_cast<uint64_t>(seed_and_step[1]);
    threshold_ = static_cast<uint32_t>(std::ceil(p * 0x1p24));  // of 24 random bits
  }

  // n words, four to a block; n is rounded up to whole blocks, for which `words` has room.
  void draw(int64_t first_block, int64_t n, uint32_t* words) const {
    int64_t k = 0;
    for (; k + 4 * kBatch <= n; k += 4 * kBatch)
      draw_batch(static_cast<uint64_t>(first_block + k / 4), words + k);
    for (; k < n; k += 4) {
      const auto four = random_words(key_, stream_, static_cast<uint64_t>(first_block + k / 4));
      std::copy(four.begin(), four.end(), words + k);
    }
  }
  bool keeps(uint32_t word) const { return word >> 8 >= threshold_; }

 private:
  static constexpr int kBatch = 16;

  // The blocks from `block` on, side by side: random_words() of each, in vectors.
  void draw_batch(uint64_t block, uint32_t* words) const {
    uint32_t c0[kBatch], c1[kBatch], c2[kBatch], c3[kBatch];
    for (int l = 0; l < kBatch; ++l) {
      c0[l] = static_cast<uint32_t>(block + l);
      c1[l] = static_cast<uint32_t>((block + l) >> 32);
      c2[l] = static_cast<uint32_t>(stream_);
      c3[l] = static_cast<uint32_t>(stream_ >> 32);
    }
    auto k0 = static_cast<uint32_t>(key_), k1 = static_cast<uint32_t>(key_ >> 32);
    for (int round = 0; round < 10; ++round) {
#pragma omp simd
      for (int l = 0; l < kBatch; ++l) {
        const uint64_t p0 = uint64_t{0xD2511F53u} * c0[l], p1 = uint64_t{0xCD9E8D57u} * c2[l];
        c0[l] = static_cast<uint32_t>(p1 >> 32) ^ c1[l] ^ k0;
        c1[l] = static_cast<uint32_t>(p1);
        c2[l] = static_cast<uint32_t>(p0 >> 32) ^ c3[l] ^ k1;
        c3[l] = static_cast<uint32_t>(p0);
      }
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    for (int l = 0; l < kBatch; ++l) {
      words[4 * l] = c0[l];
      words[4 * l + 1] = c1[l];
      words[4 * l + 2] = c2[l];
      words[4 * l + 3] = c3[l];
    }
  }

  uint64_t key_ = 0, stream_ = 0;
  uint32_t threshold_ = 0;
};

}  // namespace plimsoll
