// Random numbers in sequence for drawing data: a thin reader over Philox (core/base/philox.h).
//
//   Random random(/*key=*/seed, /*stream=*/image);    // each image has a stream of its own,
//   float angle = random.uniform(-1, 1);              // so images can be drawn in any order
#pragma once

#include "core/base/philox.h"

namespace plimsoll::data {

// A whole number in [0, n) from 64 random bits: the upper half of bits * n. Uneven by less than
// n / 2^64, which no dataset notices.
inline int64_t below(uint64_t bits, int64_t n) {
  return static_cast<int64_t>(static_cast<unsigned __int128>(bits) * static_cast<uint64_t>(n) >>
                              64);
}

class Random {
 public:
  Random(uint64_t key, uint64_t stream) : key_(key), stream_(stream) {}

  uint32_t word() {
    if (next_ % 4 == 0) words_ = random_words(key_, stream_, next_ / 4);
    return words_[next_++ % 4];
  }
  // In [low, high).
  float uniform(float low, float high) { return low + (high - low) * unit_float(word()); }
  // In [0, n).
  int64_t index(int64_t n) {
    const uint64_t high = word();
    return below(high << 32 | word(), n);
  }

 private:
  uint64_t key_, stream_, next_ = 0;
  std::array<uint32_t, 4> words_{};
};

}  // namespace plimsoll::data
