// Batch: what one training step eats. Its tensors are allocated when the batch is taken, on the
// taker's thread and in memory class `input`, so the statistics of the pool count every byte once.
#pragma once

#include "core/tensor.h"

namespace plimsoll::data {

struct Batch {
  Tensor x;  // images f32 [N, H, W, C], text i64 [B, T]
  Tensor y;  // labels i64 [N],          text i64 [B, T]
};

}  // namespace plimsoll::data
