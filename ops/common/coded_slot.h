// A slot of an optimizer's state in 8 bits: ops/common/coded_update.h says how.
#pragma once

#include "core/tensor/tensor.h"

namespace plimsoll {

// Zeros of both are a state of zeros.
struct CodedSlot {
  Tensor codes, scales;  // u8 like the parameter, f32 [blocks]
};

constexpr int64_t kCodedBlock = 256;  // elements that share a scale
constexpr int64_t coded_blocks(int64_t elements) {
  return (elements + kCodedBlock - 1) / kCodedBlock;
}

// What cannot be negative is divided by, so what is not 0 does not become 0: the smallest is the
// least number of the code. With 0 in its place single steps would be a thousand times too long.
constexpr int coded(int nearest, float x, bool is_signed) {
  return nearest + static_cast<int>(!is_signed && nearest == 0 && x > 0);
}

}  // namespace plimsoll
