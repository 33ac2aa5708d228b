// The attributes of dropout, for its kernels.
#pragma once

#include <cstdint>

namespace plimsoll {

struct DropoutAttrs {
  double p;
  uint64_t site;
  bool operator==(const DropoutAttrs&) const = default;
};

}  // namespace plimsoll
