// The constants of the ops of gather.h.
#pragma once

#include "core/base/dtype.h"

namespace plimsoll {

struct AxisAttrs {
  int axis;
  bool operator==(const AxisAttrs&) const = default;
};

struct SelectAttrs {
  int axis;
  int64_t size;  // of x along the axis
  bool operator==(const SelectAttrs&) const = default;
};

struct OneHotAttrs {
  int64_t classes;
  DType dtype;
  bool operator==(const OneHotAttrs&) const = default;
};

}  // namespace plimsoll
