// What the kernels of sums_of_squares share on all devices.
#pragma once

#include "core/cpu/parallel.h"
#include "core/tensor/meta.h"

namespace plimsoll {

struct SquareAttrs {
  int64_t chunk;
  bool operator==(const SquareAttrs&) const = default;
};

inline int64_t chunks_of(const Meta& meta, const SquareAttrs& attrs) {
  return pieces(count(meta.shape), attrs.chunk);
}

}  // namespace plimsoll
