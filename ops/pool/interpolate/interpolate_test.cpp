#include "ops/pool/interpolate/interpolate.h"

#include <cmath>

#include "ops/random/full/full.h"
#include "tests/support/op_case.h"

namespace plimsoll {
namespace {

// How much pixel `y` of `in` counts for result `i` of `out`: a hat one pixel wide on each side of
// its place, or the pixel that its place falls into.
double weight(int64_t y, int64_t i, int64_t in, int64_t out, double scale, InterpolateAttrs a) {
  if (in == out) return y == i;
  const double ratio = scale > 0 ? 1 / scale : double(in) / double(out);
  if (a.mode == Interpolation::nearest && out == 2 * in) return y == i / 2;
  if (a.mode == Interpolation::nearest) {
    // A grain more, so that a product that rounds to just below a whole number counts as it.
    return y == std::min<int64_t>(int64_t(double(i) * ratio + 1e-9), in - 1);
  }
  double place = (double(i) + 0.5) * ratio - 0.5;
  if (a.align_corners) place = out > 1 ? double(i) * double(in - 1) / double(out - 1) : 0;
  place = std::min(std::max(place, 0.0), double(in - 1));
  return std::max(0.0, 1 - std::abs(place - double(y)));
}

Array resized(const Array& x, int64_t oh, int64_t ow, const InterpolateAttrs& a) {
  const int64_t h = x.size(1), w = x.size(2), channels = x.size(3);
  Array y({x.size(0), oh, ow, channels});
  for (int64_t e = 0; e < count(y.shape); ++e) {
    const int64_t c = e % channels, j = e / channels % ow, i = e / channels / ow % oh,
                  n = e / channels / ow / oh;
    for (int64_t r = 0; r < h; ++r)
      for (int64_t s = 0; s < w; ++s)
        y[e] += weight(r, i, h, oh, a.scale.h, a) * weight(s, j, w, ow, a.scale.w, a) *
                x[((n * h + r) * w + s) * channels + c];
  }
  return y;
}

OpCase resize(const char* name, Shape x, Pair result, InterpolateAttrs a) {
  return {.name = name,
          .inputs = {real(x)},
          .call = [a](auto in) { return std::vector{interpolate(in[0], a)}; },
          .reference =
              [=](const auto& in) { return std::vector{resized(in[0], result.h, result.w, a)}; }};
}

constexpr auto kBilinear = Interpolation::bilinear;

}  // namespace

OpCases interpolate_cases() {
  OpCase infinite = resize("infinite", {1, 1, 3, 1}, {1, 5},
                           {.size = {1, 5}, .mode = kBilinear, .align_corners = true});
  infinite.inputs = {given({1, 1, 3, 1}, {1, 2, kInf})};
  infinite.reference = [](const auto&) {
    Array y({1, 1, 5, 1});
    y.values = {1, 1.5, 2, kInf, kInf};
    return std::vector{y};
  };
  infinite.differentiable = false;
  return {
      .good = {resize("nearest_double", {2, 3, 4, 3}, {6, 8}, {.scale = 2.0}),
               resize("nearest_uneven", {1, 5, 3, 2}, {3, 7}, {.size = {3, 7}}),
               resize("nearest_scale", {1, 7, 5, 2}, {10, 3}, {.scale = {1.5, 0.7}}),
               resize("nearest_exact", {1, 49, 3, 1}, {147, 1}, {.size = {147, 1}}),
               resize("nearest_scale_same", {1, 1, 10, 1}, {1, 10}, {.scale = {1, 1.05}}),
               resize("nearest_scale_double", {1, 5, 3, 1}, {10, 6}, {.scale = {2.15, 2.3}}),
               resize("bilinear_scale_same", {1, 1, 10, 1}, {1, 10},
                      {.scale = {1, 1.05}, .mode = kBilinear}),
               resize("bilinear_double", {2, 3, 4, 3}, {6, 8}, {.scale = 2.0, .mode = kBilinear}),
               resize("bilinear_smaller", {1, 7, 6, 66}, {3, 2},
                      {.size = {3, 2}, .mode = kBilinear}),
               resize("bilinear_scale", {1, 5, 7, 2}, {11, 4},
                      {.scale = {2.3, 0.6}, .mode = kBilinear}),
               resize("bilinear_same", {1, 4, 3, 2}, {4, 3}, {.size = {4, 3}, .mode = kBilinear}),
               resize("corners", {2, 3, 4, 3}, {7, 5},
                      {.size = {7, 5}, .mode = kBilinear, .align_corners = true}),
               resize("corners_smaller", {1, 6, 5, 2}, {1, 3},
                      {.size = {1, 3}, .mode = kBilinear, .align_corners = true}),
               resize("corners_scale", {1, 3, 4, 2}, {7, 6},
                      {.scale = {2.5, 1.5}, .mode = kBilinear, .align_corners = true}),
               resize("from_one", {1, 1, 1, 2}, {3, 2}, {.size = {3, 2}, .mode = kBilinear}),
               resize("no_images", {0, 3, 3, 2}, {6, 6}, {.scale = 2.0}),
               resize("no_channels", {1, 3, 3, 0}, {6, 6}, {.scale = 2.0, .mode = kBilinear}),
               infinite},
      .bad = {
          {"neither",
           [] {
             interpolate(ones({1, 2, 2, 1}), {});
           },
           "interpolate: either a size or a scale is needed: got size 0x0 and scale 0x0. Give one "
           "of them."},
          {"both",
           [] {
             interpolate(ones({1, 2, 2, 1}), {.size = 4, .scale = 2.0});
           },
           "interpolate: either a size or a scale is needed: got size 4x4 and scale 2x2. Give one "
           "of them."},
          {"negative scale",
           [] {
             interpolate(ones({1, 2, 2, 1}), {.scale = {1, -0.5}});
           },
           "interpolate: the scale 1x-0.5 is not positive. Use numbers above 0."},
          {"huge scale",
           [] {
             interpolate(ones({1, 2, 2, 1}), {.scale = {1, kInf}});
           },
           "interpolate: a scale of inf makes an axis of 2 too long. Use a smaller one."},
          {"small scale",
           [] {
             interpolate(ones({1, 2, 2, 1}), {.scale = {1, 0.4}});
           },
           "interpolate: images [1, 2, 2, 1] would become 2x0. Ask for at least 1x1."},
          {"negative size",
           [] {
             interpolate(ones({1, 2, 2, 1}), {.size = {-1, 2}});
           },
           "interpolate: images [1, 2, 2, 1] would become -1x2. Ask for at least 1x1."},
          {"nearest corners",
           [] {
             interpolate(ones({1, 2, 2, 1}), {.size = 4, .align_corners = true});
           },
           "interpolate: nearest neighbours have no corners to align. Leave align_corners out."},
          {"no pixels",
           [] {
             interpolate(ones({1, 0, 2, 1}), {.size = 4});
           },
           "interpolate: the images have no pixels: [1, 0, 2, 1]. Use a height and a width of at "
           "least 1."},
          {"rank",
           [] {
             interpolate(ones({2, 2, 1}), {.size = 4});
           },
           "interpolate: the input is not [N, H, W, C]: got [2, 2, 1]. Reshape it to four axes."},
          {"integers",
           [] {
             interpolate(ones({1, 2, 2, 1}, {.dtype = DType::i32}), {.size = 4});
           },
           "interpolate: a floating type is needed: got i32 [1, 2, 2, 1] on cpu. Cast it first."}}};
}

}  // namespace plimsoll
