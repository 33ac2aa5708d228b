// How many tensors that are read as one are cut into chunks, on any device.
#pragma once

#include "core/cpu/parallel.h"
#include "core/tensor/meta.h"

namespace plimsoll {

constexpr int64_t kChunk = 16384;  // elements of a chunk; the last of a tensor may have fewer

inline int64_t chunks_of(const Meta& meta) { return pieces(count(meta.shape), kChunk); }

}  // namespace plimsoll
