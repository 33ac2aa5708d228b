// What the kernels of scale_to_norm share on all devices.
#pragma once

namespace plimsoll {

struct ScaleAttrs {
  double max_norm;
  bool operator==(const ScaleAttrs&) const = default;
};

}  // namespace plimsoll
