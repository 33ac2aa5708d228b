// The attributes of rms_norm, for its kernels.
#pragma once

namespace plimsoll {

struct RmsNormAttrs {
  double eps;
  bool operator==(const RmsNormAttrs&) const = default;
};

}  // namespace plimsoll
