// The constants of slice and its gradient.
#pragma once

#include "core/base/shape.h"

namespace plimsoll {

struct SliceAttrs {
  int axis;
  int64_t start, stop, step;
  bool operator==(const SliceAttrs&) const = default;
};

struct SliceGradAttrs {
  SliceAttrs slice;
  Shape shape;  // of the tensor that was sliced
  bool operator==(const SliceGradAttrs&) const = default;
};

}  // namespace plimsoll
