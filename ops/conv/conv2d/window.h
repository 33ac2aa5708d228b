// How windows move over an image, and the tiles that the kernels cut the work into.
//
//   const Window win = forward_window(sizes);        // or input_grad_window(sizes, {1, 0})
//   const Tiles tiles(win, images, channels);
//   const Tile tile = tiles[number];                 // a rectangle of windows of one image
//
// The gradient for the image is a convolution too: pixel h of dx gathers the windows i with
// h = i s + r d - p, for tap r and dilation d. For the pixels h = a, a + s, a + 2 s, ... these are
// always the same taps r, and i moves on by one: a convolution of dy of stride 1 with some of the
// taps (every s-th where d is 1), in reverse. So a stride of s makes s x s of them, one for each
// pair of remainders, and no two write the same pixel.
#pragma once

#include "ops/conv/conv2d/conv2d.h"

namespace plimsoll {

// The letters of conv2d.h as numbers; c and o count all groups.
struct ConvSizes {
  int64_t n, h, w, c, o, kh, kw, p, q;
  Pair stride, padding, dilation;  // padding: above and on the left; p and q tell the rest
  int64_t groups;

  constexpr int64_t group_inputs() const { return c / groups; }
  constexpr int64_t group_outputs() const { return o / groups; }
  constexpr int64_t taps() const { return kh * kw; }
  // A result has the pixel in its place alone: the images' pixels are the rows of a matrix.
  bool is_product() const {
    return taps() == 1 && groups == 1 && stride == Pair(1) && p == h && q == w;
  }
  // Every channel for itself. With many filters each, they fill vectors of their own: like any
  // group.
  bool depthwise() const { return groups == c && c > 1 && o > 0 && o <= 4 * c; }
};

// One axis of a convolution: tap t of result i reads pixel origin + i step + t pitch of an image of
// `in` pixels (0 outside), and the result is written to place start + i stride of a line of
// `total`. Tap t of the window is tap first_tap + t tap_step of the filter.
struct Axis {
  int64_t in, out;  // pixels to read, results to write
  int64_t taps, step, origin, pitch;
  int64_t total, start = 0, stride = 1;
  int64_t first_tap = 0, tap_step = 1;

  int64_t reach(int64_t windows) const {  // pixels that neighbouring windows cover
    return taps == 0 ? 0 : (windows - 1) * step + (taps - 1) * pitch + 1;
  }
};

struct Window {
  Axis h, w;
};

Window forward_window(const ConvSizes& sizes);
// The part of dx whose pixels leave these remainders when divided by the stride.
Window input_grad_window(const ConvSizes& sizes, Pair remainder);

// Windows [row, row + rows) x [col, col + cols) of one image.
struct Tile {
  int64_t image, row, col, rows, cols;
};

// All windows of a batch cut into tiles whose pixels, about `patch` elements, stay in the cache.
class Tiles {
 public:
  Tiles(const Window& win, int64_t images, int64_t channels, int64_t patch = 16384);
  int64_t count() const { return images_ * per_col_ * per_row_; }
  Tile operator[](int64_t number) const;
  int64_t pixels() const { return rows_ * cols_; }  // windows of the largest tile
  int64_t patch() const { return patch_; }          // elements that the largest tile reads

 private:
  int64_t images_, height_, width_;
  int64_t rows_, cols_, per_col_, per_row_, patch_;
};

}  // namespace plimsoll
