// Picture: one image as bytes, as a file holds it, and how it becomes one that a net was made for.
//
//   Picture picture = formats::read_picture("seven.png");
//   picture = fitted(std::move(picture), "seven.png", {28, 28, 1});
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace plimsoll::data {

struct Picture {
  int64_t height = 0, width = 0, channels = 0;  // 1: grey, 3: red, green, blue
  std::vector<uint8_t> pixels;                  // [H, W, C]
};

// What is done to a picture that is not what is wanted, beside what loses nothing.
struct FitAttrs {
  bool resize = false;  // to another size; the ratio of the sides is not kept
  bool grey = false;    // colours to grey
};

struct PictureSize {
  int64_t height, width, channels;
};

// The picture as `wanted`. Always: grey becomes colour by repetition, and colours that are all grey
// become that grey; both are exact. With attrs: resized(), and grey from colours as
// (19595 R + 38470 G + 7471 B + 2^15) / 2^16, the luma of ITU-R BT.601, before any resizing.
// DataError, naming the picture, for what would need an attribute that is not set.
Picture fitted(Picture picture, const std::string& name, PictureSize wanted, FitAttrs attrs = {});

// Bilinear where the picture grows. Where it shrinks by r each pixel is a mean over 2 r pixels of a
// row and of a column, weighted as a triangle, so that nothing is left out: what Pillow does for
// BILINEAR, here with one rounding at the end. ValueError for sizes below 1.
Picture resized(const Picture& picture, int64_t height, int64_t width);

}  // namespace plimsoll::data
