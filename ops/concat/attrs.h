// The constants of concat.
#pragma once

namespace plimsoll {

struct ConcatAttrs {
  int axis;
  bool operator==(const ConcatAttrs&) const = default;
};

}  // namespace plimsoll
