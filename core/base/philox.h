// Counter-based random numbers: Philox4x32-10 (Salmon et al., "Parallel Random Numbers: As Easy as
// 1, 2, 3", SC 2011). A number is a pure function of a key and a counter, so a mask can be drawn
// again in the backward pass, in a recomputation or in a replay instead of being stored.
//
//   Keys keys(seed);                   // every random thing takes its own key, in order
//   auto words = philox({k0, k1}, {element / 4, 0, 0, 0});
#pragma once

#include <array>
#include <cstdint>

namespace plimsoll {

constexpr std::array<uint32_t, 4> philox(std::array<uint32_t, 2> key, std::array<uint32_t, 4> c) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53u} * c[0];
    const uint64_t p1 = uint64_t{0xCD9E8D57u} * c[2];
    c = {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ key[0], static_cast<uint32_t>(p1),
         static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ key[1], static_cast<uint32_t>(p0)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return c;
}

// Uniform in [0, 1) with 24 bits, as f32 holds them.
constexpr float unit_float(uint32_t word) { return static_cast<float>(word >> 8) * 0x1p-24f; }

// Four words for elements 4 * block ... 4 * block + 3 of a 64-bit key and a 64-bit stream number.
constexpr std::array<uint32_t, 4> random_words(uint64_t key, uint64_t stream, uint64_t block) {
  return philox({static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)},
                {static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32),
                 static_cast<uint32_t>(stream), static_cast<uint32_t>(stream >> 32)});
}

// A sequence of independent keys from one seed: the same seed always gives the same sequence.
class Keys {
 public:
  explicit Keys(uint64_t seed) : seed_(seed) {}
  uint64_t next() {
    const auto words = random_words(seed_, /*stream=*/0x6b657973, next_++);
    return uint64_t{words[0]} << 32 | words[1];
  }

 private:
  uint64_t seed_;
  uint64_t next_ = 0;
};

}  // namespace plimsoll
