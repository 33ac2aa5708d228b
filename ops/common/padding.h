// Pair: one number for the height and one for the width of an image. Padding: what lies around an
// image, and Sides: what lies around a line, in pixels.
//
//   conv2d(x, w, {.stride = 2});                   // 2 means {2, 2}
//   conv2d(x, w, {.padding = 1});                  // one pixel on every side
//   conv2d(x, w, {.padding = {2, 0}});             // two above and below, none left and right
//   conv2d(x, w, {.padding = {0, 1, 0, 1}});       // top, bottom, left, right
//   conv1d(x, w, {.padding = {2, 0}});             // two before, none after
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

struct Padding {
  int64_t top = 0, bottom = 0, left = 0, right = 0;

  Padding() = default;
  constexpr Padding(int64_t all) : Padding(all, all) {}  // NOLINT: meant to convert
  constexpr Padding(int64_t height, int64_t width) : Padding(height, height, width, width) {}
  constexpr Padding(int64_t t, int64_t b, int64_t l, int64_t r)
      : top(t), bottom(b), left(l), right(r) {}
  bool operator==(const Padding&) const = default;

  Pair before() const { return {top, left}; }
  Pair after() const { return {bottom, right}; }
};

inline bool at_least(const Padding& padding, int64_t least) {
  return at_least(padding.before(), least) && at_least(padding.after(), least);
}

// "1x2" where opposite sides are equal, else the four numbers in order: "{0, 1, 0, 1}".
inline void append_text(std::string& out, const Padding& p) {
  if (p.before() == p.after())
    append_text(out, p.before());
  else
    out += cat("{", p.top, ", ", p.bottom, ", ", p.left, ", ", p.right, "}");
}

struct Sides {
  int64_t before = 0, after = 0;

  Sides() = default;
  constexpr Sides(int64_t both) : before(both), after(both) {}  // NOLINT: meant to convert
  constexpr Sides(int64_t b, int64_t a) : before(b), after(a) {}
  bool operator==(const Sides&) const = default;
};

}  // namespace plimsoll
