// The attributes of scale_to_norm, for its kernels.
#pragma once

namespace plimsoll {

struct ScaleAttrs {
  double max_norm;
  bool operator==(const ScaleAttrs&) const = default;
};

}  // namespace plimsoll
