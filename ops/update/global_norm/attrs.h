// What the kernels of global_norm and scale_to_norm share on all devices.
#pragma once

#include "core/cpu/parallel.h"
#include "core/tensor/meta.h"

namespace plimsoll {

// Sums are made of chunks of each tensor, then of the chunks' sums, on any device.
constexpr int64_t kChunk = 16384;  // elements of a chunk; the last of a tensor may have fewer

inline int64_t chunks_of(const Meta& meta) { return pieces(count(meta.shape), kChunk); }

struct ScaleAttrs {
  double max_norm;
  bool operator==(const ScaleAttrs&) const = default;
};

}  // namespace plimsoll
