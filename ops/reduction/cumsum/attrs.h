// The constants of cumsum.
#pragma once

namespace plimsoll {

struct CumsumAttrs {
  int axis = 0;
  bool exclusive = false, reverse = false;
  bool operator==(const CumsumAttrs&) const = default;
};

}  // namespace plimsoll
