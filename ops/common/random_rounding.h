// Rounding to bf16 up or down at random, so that the mean of many roundings is the number itself:
// what keeps small updates of bf16 parameters from being lost, each rounded to nothing. The random
// bits are those of a key and of the number of the step (core/base/philox.h), so that runs repeat.
//
//   y = rounded_at_random(x, random_words(rounding.key, rounding.step, i / 4)[i % 4]);
#pragma once

#include <bit>

#include "core/base/philox.h"

namespace plimsoll {

struct RandomRounding {
  uint64_t key = 0;  // 0: to the nearest
  uint64_t step = 0;
};

// A number that bf16 holds: one of the two beside x, the nearer one the likelier. NaN and infinity
// stay.
constexpr float rounded_at_random(float x, uint32_t word) {
  const auto bits = std::bit_cast<uint32_t>(x);
  const bool finite = (bits & 0x7f800000U) != 0x7f800000U;
  return finite ? std::bit_cast<float>((bits + (word & 0xffffU)) & 0xffff0000U) : x;
}

// Of an op's options, which have a member `rounding`, the key, where they can have one.
template <class Options>
constexpr RandomRounding random_rounding(const Options& options, double step) {
  if constexpr (requires { options.rounding; })
    return {options.rounding, static_cast<uint64_t>(step)};
  else
    return {};
}

}  // namespace plimsoll
