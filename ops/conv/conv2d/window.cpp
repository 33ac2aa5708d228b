#include "ops/conv/conv2d/window.h"

#include <algorithm>
#include <numeric>

#include "core/cpu/parallel.h"

namespace plimsoll {
namespace {

constexpr int64_t kWindows = 1024;   // results per tile: 128 KiB for 32 channels of f32
constexpr int64_t kMinColumns = 24;  // a tile is at least this wide, whatever it has to read

Axis forward_axis(int64_t in, int64_t out, int64_t taps, int64_t stride, int64_t padding,
                  int64_t dilation) {
  return {.in = in,
          .out = out,
          .taps = taps,
          .step = stride,
          .origin = -padding,
          .pitch = dilation,
          .total = out};
}

// Pixel a + i s of dx meets tap r of window i + (a + p - r d) / s, wherever that divides evenly:
// for r = r0 + t s / g with g = gcd(s, d), and neighbours t lie d / g windows apart.
Axis input_grad_axis(int64_t in, int64_t out, int64_t taps, int64_t stride, int64_t padding,
                     int64_t dilation, int64_t a) {
  const int64_t g = std::gcd(stride, dilation);
  int64_t first = 0;
  while (first < taps && (a + padding - first * dilation) % stride != 0) ++first;
  const int64_t own = first < taps ? (taps - 1 - first) / (stride / g) + 1 : 0;
  const int64_t last = first + (own - 1) * (stride / g);  // the tap that meets the earliest window
  return {.in = out,
          .out = in > a ? (in - a - 1) / stride + 1 : 0,
          .taps = own,
          .step = 1,
          .origin = own > 0 ? (a + padding - last * dilation) / stride : 0,
          .pitch = dilation / g,
          .total = in,
          .start = a,
          .stride = stride,
          .first_tap = own > 0 ? last : 0,
          .tap_step = -(stride / g)};
}

}  // namespace

Window forward_window(const ConvSizes& s) {
  return {forward_axis(s.h, s.p, s.kh, s.stride.h, s.padding.h, s.dilation.h),
          forward_axis(s.w, s.q, s.kw, s.stride.w, s.padding.w, s.dilation.w)};
}

Window input_grad_window(const ConvSizes& s, Pair remainder) {
  return {input_grad_axis(s.h, s.p, s.kh, s.stride.h, s.padding.h, s.dilation.h, remainder.h),
          input_grad_axis(s.w, s.q, s.kw, s.stride.w, s.padding.w, s.dilation.w, remainder.w)};
}

Tiles::Tiles(const Window& win, int64_t images, int64_t channels, int64_t patch)
    : images_(images), height_(win.h.out), width_(win.w.out) {
  if (images == 0 || height_ == 0 || width_ == 0) {
    images_ = rows_ = cols_ = per_col_ = per_row_ = patch_ = 0;
    return;
  }
  channels = std::max<int64_t>(channels, 1);
  // Whole rows of windows where one row fits the budget, else parts of a row; then as many rows as
  // fit. Both are evened out, so that no tile is a thin rest.
  const int64_t line = std::max<int64_t>(win.h.reach(1), 1) * channels;
  const int64_t fit = std::max((patch / line - win.w.reach(1)) / win.w.step + 1, kMinColumns);
  per_row_ = pieces(width_, fit);
  cols_ = pieces(width_, per_row_);
  const int64_t lines = patch / (channels * std::max<int64_t>(win.w.reach(cols_), 1));
  const int64_t deep =
      std::max<int64_t>(std::min((lines - win.h.reach(1)) / win.h.step + 1, kWindows / cols_), 1);
  per_col_ = pieces(height_, deep);
  rows_ = pieces(height_, per_col_);
  patch_ = win.h.reach(rows_) * win.w.reach(cols_) * channels;
}

Tile Tiles::operator[](int64_t number) const {
  const int64_t col = number % per_row_ * cols_;
  const int64_t row = number / per_row_ % per_col_ * rows_;
  return {.image = number / per_row_ / per_col_,
          .row = row,
          .col = col,
          .rows = std::min(rows_, height_ - row),
          .cols = std::min(cols_, width_ - col)};
}

}  // namespace plimsoll
