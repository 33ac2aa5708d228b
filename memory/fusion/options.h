// Which ops of a captured step are run together (fuse.h, epilogues.h); every pass is on or off by
// itself. All but epilogues change no bit.
//
//   Step step(train, {.fusion = kFuseAll});
//   Step step(train, {.fusion = {.elements = true}});
#pragma once

namespace plimsoll {

struct Fusion {
  bool elements = false;  // chains of pointwise ops
  bool rows = false;      // an op over rows with the pointwise ops around it
  bool norms = false;     // batch norm with the sum and the relu behind it
  // On a GPU products with what follows them, in types of 16 bits: within their rounding.
  bool epilogues = false;
  bool operator==(const Fusion&) const = default;
};

constexpr Fusion kFuseAll{.elements = true, .rows = true, .norms = true, .epilogues = true};

}  // namespace plimsoll
