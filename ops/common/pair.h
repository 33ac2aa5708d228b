// Pair: one number for the height and one for the width of an image.
//
//   conv2d(x, w, {.stride = 2, .padding = {1, 0}});       // 2 means {2, 2}
#pragma once

#include "core/base/text.h"

namespace plimsoll {

struct Pair {
  int64_t h = 0, w = 0;

  Pair() = default;
  constexpr Pair(int64_t both) : h(both), w(both) {}  // NOLINT: meant to convert
  constexpr Pair(int64_t height, int64_t width) : h(height), w(width) {}
  bool operator==(const Pair&) const = default;
};

inline bool at_least(const Pair& pair, int64_t least) { return pair.h >= least && pair.w >= least; }

inline void append_text(std::string& out, const Pair& pair) {  // "3x5"
  append_text(out, pair.h);
  out += 'x';
  append_text(out, pair.w);
}

}  // namespace plimsoll
