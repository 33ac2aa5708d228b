// The attributes of rope's op, for its kernels.
#pragma once

#include "ops/attention/rope/rope.h"

namespace plimsoll {

struct RopeTurnAttrs {
  RopeAttrs own;
  bool back = false;  // turns by minus the angle: the gradient
  bool operator==(const RopeTurnAttrs&) const = default;
};

}  // namespace plimsoll
