#include "ops/pool/pool2d/pool2d.h"

#include <algorithm>

#include "autograd/gradients.h"
#include "autograd/no_grad.h"
#include "ops/random/full/full.h"
#include "tests/support/op_case.h"

namespace plimsoll {
namespace {

// A window as the reference sees it: the values inside the image, and how many places there are on
// the image or its padding.
struct Seen {
  std::vector<double> values;
  int64_t places = 0;
};

double largest(const Seen& seen) {
  return *std::max_element(seen.values.begin(), seen.values.end());
}

double mean_over(const Seen& seen, int64_t places) {
  double sum = 0;
  for (const double value : seen.values) sum += value;
  return places > 0 ? sum / static_cast<double>(places) : 0;
}

// The size of the result, by trying: windows are added while they fit, or start on the image.
int64_t windows_along(int64_t in, int64_t before, int64_t after, int64_t span, int64_t stride,
                      bool ceil_mode) {
  int64_t n = 0;
  for (int64_t start = -before;; start += stride, ++n) {
    const bool fits = start + span <= in + after;
    const bool overhangs = start - stride + span < in + after && start < in;  // one more than fits
    if (!fits && !(ceil_mode && overhangs)) return n;
  }
}

// Folds each window by plain loops.
template <class F>
Array fold(const Array& x, const Pool2dAttrs& a, F&& f) {
  const int64_t h = x.size(1), w = x.size(2), channels = x.size(3);
  const auto& p = a.padding;
  Array y({x.size(0),
           windows_along(h, p.top, p.bottom, a.dilation.h * (a.window.h - 1) + 1, a.stride.h,
                         a.ceil_mode),
           windows_along(w, p.left, p.right, a.dilation.w * (a.window.w - 1) + 1, a.stride.w,
                         a.ceil_mode),
           channels});
  for (int64_t e = 0; e < count(y.shape); ++e) {
    const int64_t c = e % channels, j = e / channels % y.size(2);
    const int64_t i = e / channels / y.size(2) % y.size(1),
                  n = e / channels / y.size(2) / y.size(1);
    Seen seen;
    for (int64_t tap = 0; tap < a.window.h * a.window.w; ++tap) {
      const int64_t r = i * a.stride.h - p.top + tap / a.window.w * a.dilation.h;
      const int64_t s = j * a.stride.w - p.left + tap % a.window.w * a.dilation.w;
      if (r < h + p.bottom && s < w + p.right) ++seen.places;
      if (r >= 0 && r < h && s >= 0 && s < w)
        seen.values.push_back(x[((n * h + r) * w + s) * channels + c]);
    }
    y[e] = f(seen);
  }
  return y;
}

// The same for windows that cover the image evenly.
template <class F>
Array fold_evenly(const Array& x, Pair outputs, F&& f) {
  const int64_t h = x.size(1), w = x.size(2), channels = x.size(3);
  Array y({x.size(0), outputs.h, outputs.w, channels});
  for (int64_t e = 0; e < count(y.shape); ++e) {
    const int64_t c = e % channels, j = e / channels % outputs.w;
    const int64_t i = e / channels / outputs.w % outputs.h,
                  n = e / channels / outputs.w / outputs.h;
    // Row r is read where the intervals [r, r + 1) and [i, i + 1) h / P overlap, in whole rows.
    const auto touches = [](int64_t r, int64_t own, int64_t in, int64_t out) {
      return (r + 1) * out > own * in && r * out < (own + 1) * in;
    };
    Seen seen;
    for (int64_t r = 0; r < h; ++r)
      for (int64_t s = 0; s < w; ++s)
        if (touches(r, i, h, outputs.h) && touches(s, j, w, outputs.w))
          seen.values.push_back(x[((n * h + r) * w + s) * channels + c]);
    y[e] = f(seen);
  }
  return y;
}

OpCase max_case(const char* name, Shape shape, Pool2dAttrs a) {
  return {.name = name,
          .inputs = {real(shape)},
          .call = [a](auto in) { return std::vector{max_pool2d(in[0], a)}; },
          .reference = [a](const auto& in) { return std::vector{fold(in[0], a, largest)}; }};
}

OpCase avg_case(const char* name, Shape shape, Pool2dAttrs a) {
  return {.name = name,
          .inputs = {real(shape)},
          .call = [a](auto in) { return std::vector{avg_pool2d(in[0], a)}; },
          .reference =
              [a](const auto& in) {
                return std::vector{fold(in[0], a, [a](const Seen& seen) {
                  const auto inside = static_cast<int64_t>(seen.values.size());
                  return mean_over(seen, a.count_include_pad ? seen.places : inside);
                })};
              }};
}

OpCase adaptive_max_case(const char* name, Shape shape, Pair outputs) {
  return {.name = name,
          .inputs = {real(shape)},
          .call = [=](auto in) { return std::vector{adaptive_max_pool2d(in[0], outputs)}; },
          .reference =
              [=](const auto& in) { return std::vector{fold_evenly(in[0], outputs, largest)}; }};
}

OpCase adaptive_avg_case(const char* name, Shape shape, Pair outputs) {
  return {.name = name,
          .inputs = {real(shape)},
          .call = [=](auto in) { return std::vector{adaptive_avg_pool2d(in[0], outputs)}; },
          .reference =
              [=](const auto& in) {
                return std::vector{fold_evenly(in[0], outputs, [](const Seen& seen) {
                  return mean_over(seen, static_cast<int64_t>(seen.values.size()));
                })};
              }};
}

// The gradient goes to the first of equal elements of each window, in row order.
OpCase ties() {
  return {
      .name = "max_ties",
      .inputs = {given({1, 4, 5, 1}, {1, 1, 1, 0, 2, 1, 1, 1, 2, 2,  //
                                      0, 0, 0, 0, 0, 3, 0, 3, 3, 3})},
      .call =
          [](auto in) {
            const Tensor x = in[0].detach().require_grad();
            const Tensor y = max_pool2d(x, {.window = 3, .stride = 2, .padding = 1});
            return gradients(y, std::vector{x}, {.seed = ones(y.shape(), {y.dtype(), y.device()})});
          },
      .reference =
          [](const std::vector<Array>& in) {
            Array dx(in[0].shape);  // of the 2 x 3 windows: 1, 2, 2 and 3, 3, 3
            for (const int64_t first : {0, 8, 4, 15, 17, 18}) dx[first] += 1;
            return std::vector{dx};
          },
      .differentiable = false};
}

}  // namespace

OpCases pool2d_cases() {
  OpCase special = max_case("max_special", {1, 1, 8, 1}, {.window = {1, 2}, .stride = {1, 2}});
  special.inputs = {given({1, 1, 8, 1}, {-kInf, -kInf, 1, kNaN, kNaN, 1, kInf, 1})};
  special.reference = [=](const std::vector<Array>&) {
    Array y({1, 1, 4, 1});
    y.values = {-kInf, kNaN, kNaN, kInf};
    return std::vector{y};
  };
  special.differentiable = false;
  const OpCase global{.name = "global",
                      .inputs = {real({2, 3, 4, 5})},
                      .call = [](auto in) { return std::vector{global_avg_pool(in[0])}; },
                      .reference =
                          [](const std::vector<Array>& in) {
                            Array y({2, 5});
                            for (int64_t e = 0; e < count(in[0].shape); ++e)
                              y[e / 60 * 5 + e % 5] += in[0][e] / 12;
                            return std::vector{y};
                          }};
  const OpCase global_max{.name = "global_max",
                          .inputs = {real({2, 3, 4, 5})},
                          .call = [](auto in) { return std::vector{global_max_pool(in[0])}; },
                          .reference =
                              [](const std::vector<Array>& in) {
                                Array y({2, 5});
                                y.values.assign(10, -2);
                                for (int64_t e = 0; e < count(in[0].shape); ++e) {
                                  double& own = y[e / 60 * 5 + e % 5];
                                  own = std::max(own, in[0][e]);
                                }
                                return std::vector{y};
                              }};
  return {
      .good = {max_case("max", {2, 4, 6, 3}, {}),
               max_case("max_eight_channels", {1, 4, 6, 8}, {.window = 3, .stride = 1}),
               max_case("max_dilated", {1, 7, 8, 3},
                        {.window = {3, 2},
                         .stride = 1,
                         .padding = {1, 0, 0, 2},
                         .dilation = {2, 3}}),
               max_case("max_ceil", {2, 6, 7, 2}, {.window = 3, .ceil_mode = true}),
               // The last window of a row would start in the padding: it is left out.
               max_case("max_ceil_left_out", {1, 5, 4, 2},
                        {.window = 2, .stride = {3, 3}, .padding = {0, 1}, .ceil_mode = true}),
               max_case("max_ceil_small", {1, 2, 3, 2},
                        {.window = 4, .stride = 3, .ceil_mode = true}),
               max_case("max_wide_padding", {1, 3, 4, 2}, {.window = 3, .stride = 1, .padding = 2}),
               adaptive_max_case("adaptive_max", {2, 7, 6, 3}, {3, 4}),
               adaptive_max_case("adaptive_max_large", {1, 40, 30, 2}, {2, 1}),
               adaptive_avg_case("adaptive_avg", {2, 7, 5, 3}, {3, 2}),
               adaptive_avg_case("adaptive_avg_even", {1, 6, 4, 66}, 2),
               adaptive_avg_case("adaptive_avg_more", {1, 3, 2, 2}, {5, 3}),
               adaptive_avg_case("adaptive_empty", {0, 3, 2, 2}, {5, 3}), global_max,
               avg_case("avg_excluding", {2, 6, 5, 3},
                        {.window = 3, .stride = 2, .padding = 1, .count_include_pad = false}),
               avg_case("avg_asymmetric", {1, 5, 6, 3},
                        {.window = 3, .stride = {1, 2}, .padding = {2, 0, 1, 2}}),
               avg_case("avg_ceil", {1, 6, 7, 2},
                        {.window = 3, .stride = 2, .padding = 1, .ceil_mode = true}),
               avg_case("avg_ceil_excluding", {1, 6, 8, 2},
                        {.window = {2, 3},
                         .stride = {3, 2},
                         .padding = {1, 1, 0, 1},
                         .ceil_mode = true,
                         .count_include_pad = false}),
               avg_case("avg_dilated", {1, 6, 7, 2},
                        {.window = 2, .stride = 1, .padding = {1, 2}, .dilation = {2, 3}}),
               // Some windows see no pixel at all.
               avg_case("avg_dilated_past", {1, 1, 3, 2},
                        {.window = 2,
                         .stride = 1,
                         .padding = {1, 2, 0, 0},
                         .dilation = 2,
                         .count_include_pad = false}),

               max_case("max_overlapping", {2, 5, 5, 2}, {.window = 3, .stride = 1, .padding = 1}),
               max_case("max_uneven", {1, 7, 6, 70}, {.window = {3, 2}, .stride = {2, 3}}),
               max_case("max_large_window", {1, 18, 17, 2}, {.window = 17, .stride = 1}),
               max_case("max_many_channels", {1, 4, 4, 83}, {}),
               max_case("max_empty", {0, 4, 4, 3}, {}), max_case("max_one", {1, 2, 2, 1}, {}),
               special, ties(),
               avg_case("avg_eight_channels", {1, 4, 6, 8}, {.window = 3, .stride = 1}),
               avg_case("avg", {2, 4, 4, 3}, {}),
               avg_case("avg_overlapping", {2, 5, 4, 67}, {.window = 3, .stride = 2, .padding = 1}),
               avg_case("avg_gaps", {1, 7, 7, 2}, {.window = 2, .stride = 3}),
               avg_case("avg_empty", {2, 4, 4, 0}, {}), global},
      .bad = {
          {"rank",
           [] {
             max_pool2d(ones({4, 4, 3}));
           },
           "max_pool2d: the input is not [N, H, W, C]: got [4, 4, 3]. Reshape it to four axes."},
          {"window",
           [] {
             avg_pool2d(ones({1, 2, 8, 1}), {.window = 3});
           },
           "avg_pool2d: the window is larger than the image: 3x3 for [1, 2, 8, 1] padded by "
           "0x0. Use a smaller window or more padding."},
          {"no pixels",
           [] {
             max_pool2d(ones({1, 0, 0, 1}), {.window = 2, .stride = 1, .padding = 1});
           },
           "max_pool2d: the images have no pixels: [1, 0, 0, 1]. Use a height and a width of at "
           "least 1."},
          {"large window",
           [] {
             const int64_t side = int64_t{1} << 20;
             max_pool2d(ones({1, 1, 1, 1}), {.window = side, .stride = 1, .padding = side / 2});
           },
           "max_pool2d: the window is too large: 1048576x1048576. Use less than 2^31 places."},
          {"large padding",
           [] {
             max_pool2d(ones({1, 4, 4, 1}), {.padding = int64_t{1} << 62});
           },
           "max_pool2d: padding 4611686018427387904x4611686018427387904 is too large for windows "
           "over 2x2 pixels. Pad less than a window reaches."},
          {"undefined", [] { global_avg_pool(Tensor()); },
           "global_avg_pool: the tensor is undefined. Pass one that was computed."},
          {"padding",
           [] {
             max_pool2d(ones({1, 4, 4, 1}), {.padding = 2});
           },
           "max_pool2d: padding 2x2 is too large for windows over 2x2 pixels. Pad less than a "
           "window reaches."},
          {"stride",
           [] {
             avg_pool2d(ones({1, 4, 4, 1}), {.stride = {1, 0}, .padding = {0, 1, 0, 0}});
           },
           "avg_pool2d: the attributes do not fit: window 2x2, stride 1x0, padding {0, 1, 0, 0}, "
           "dilation 1x1. All start at 1, padding at 0."},
          {"ceil",
           [] {
             max_pool2d(ones({1, 4, 1, 1}), {.window = 3, .stride = 2, .ceil_mode = true});
           },
           "max_pool2d: the window is larger than the image: 3x3 for [1, 4, 1, 1] padded by 0x0. "
           "Use a smaller window or more padding."},
          {"no results", [] { adaptive_avg_pool2d(ones({1, 4, 4, 1}), {2, 0}); },
           "adaptive_avg_pool2d: 2x0 results cannot be had. Ask for at least 1x1."},
          {"no results at all", [] { adaptive_max_pool2d(ones({1, 4, 4, 1}), 0); },
           "adaptive_max_pool2d: 0x0 results cannot be had. Ask for at least 1x1."},
          {"global pixels", [] { global_avg_pool(ones({1, 0, 3, 2})); },
           "global_avg_pool: the images have no pixels: [1, 0, 3, 2]. Use a height and a width of "
           "at least 1."},
          {"global rank", [] { global_max_pool(ones({4, 4})); },
           "global_max_pool: the input is not [N, H, W, C]: got [4, 4]. Reshape it to four axes."},
          {"integers",
           [] {
             max_pool2d(ones({1, 4, 4, 1}, {.dtype = DType::u8}));
           },
           "max_pool2d: a floating type is needed: got u8 [1, 4, 4, 1] on cpu. Cast it "
           "first."}}};
}

}  // namespace plimsoll
