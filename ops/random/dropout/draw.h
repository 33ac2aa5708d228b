// Many random words at once, in vectors of the CPU.
#pragma once

#include "core/cpu/philox.h"
#include "ops/random/dropout/bits.h"

namespace plimsoll {

inline void DropoutBits::draw(int64_t first_block, int64_t n, uint32_t* words) const {
  draw_words(key_, stream_, static_cast<uint64_t>(first_block), n, words);
}

}  // namespace plimsoll
