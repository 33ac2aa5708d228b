// Batch: what one training step eats. Its tensors are allocated when the batch is taken, on the
// taker's thread and in memory class `input`, so the statistics of the pool count every byte once.
#pragma once

#include "core/engine/transfer.h"

namespace plimsoll::data {

struct Batch {
  Tensor x;  // images f32 [N, H, W, C], text i64 [B, T]
  Tensor y;  // labels i64 [N],          text i64 [B, T]
};

inline Batch to_device(const Batch& batch, Device device) {
  const MemoryScope scope(MemoryClass::input);
  return {plimsoll::to_device(batch.x, device), plimsoll::to_device(batch.y, device)};
}

}  // namespace plimsoll::data
