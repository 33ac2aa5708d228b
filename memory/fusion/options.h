// Which ops of a captured step are run together (fuse.h); every pass is on or off by itself and
// changes no bit.
//
//   Step step(train, {.fusion = kFuseAll});
//   Step step(train, {.fusion = {.elements = true}});
#pragma once

namespace plimsoll {

struct Fusion {
  bool elements = false;  // chains of pointwise ops
  bool rows = false;      // an op over rows with the pointwise ops around it
  bool norms = false;     // batch norm with the sum and the relu behind it
  bool operator==(const Fusion&) const = default;
};

constexpr Fusion kFuseAll{.elements = true, .rows = true, .norms = true};

}  // namespace plimsoll
