// The random choices of dropout, for every op that drops: whether an element stays is a pure
// function of (seed, step, site, element), so nobody stores a mask.
//
//   const DropoutBits bits(p, site, key.as<int64_t>());     // the key is {seed, step}
//   y[i] = bits.keeps(bits.word(i / 4, i % 4)) ? x[i] / (1 - p) : 0;
//   bits.draw(first / 4, n, words);                         // elements first ... first + n - 1
#pragma once

#include "core/base/philox.h"

namespace plimsoll {

class DropoutBits {
 public:
  // The seed and the site make one key; the step is the stream. Without a key nothing may be drawn.
  constexpr DropoutBits(double p, uint64_t site, const int64_t* seed_and_step) {
    if (!seed_and_step) return;
    constexpr uint64_t kDropoutStream = 0x64726f70;
    const auto words = random_words(static_cast<uint64_t>(seed_and_step[0]), kDropoutStream, site);
    key_ = uint64_t{words[0]} << 32 | words[1];
    stream_ = static_cast<uint64_t>(seed_and_step[1]);
    threshold_ = static_cast<uint32_t>(p * 0x1p24);  // of 24 random bits, rounded up
    threshold_ += static_cast<double>(threshold_) < p * 0x1p24;
  }

  // n words, four to a block; n is rounded up to whole blocks, for which `words` has room.
  void draw(int64_t first_block, int64_t n, uint32_t* words) const;  // of the CPU: draw.h
  constexpr std::array<uint32_t, 4> words(int64_t block) const {
    return random_words(key_, stream_, static_cast<uint64_t>(block));
  }
  // One of them: number `place` of a block.
  constexpr uint32_t word(int64_t block, int64_t place) const {
    return random_words(key_, stream_, static_cast<uint64_t>(block))[static_cast<size_t>(place)];
  }
  constexpr bool keeps(uint32_t word) const { return word >> 8 >= threshold_; }

 private:
  uint64_t key_ = 0, stream_ = 0;
  uint32_t threshold_ = 0;
};

}  // namespace plimsoll
