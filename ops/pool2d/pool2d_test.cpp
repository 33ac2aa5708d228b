#include "ops/pool2d/pool2d.h"

#include <algorithm>

#include "autograd/gradients.h"
#include "autograd/no_grad.h"
#include "ops/full/full.h"
#include "tests/op_case.h"

namespace plimsoll {
namespace {

// Folds each window by plain loops: f(values inside the image).
template <class F>
Array fold(const Array& x, const Pool2dAttrs& a, F&& f) {
  const int64_t h = x.size(1), w = x.size(2), channels = x.size(3);
  Array y({x.size(0), (h + 2 * a.padding.h - a.window.h) / a.stride.h + 1,
           (w + 2 * a.padding.w - a.window.w) / a.stride.w + 1, channels});
  for (int64_t e = 0; e < count(y.shape); ++e) {
    const int64_t c = e % channels, j = e / channels % y.size(2);
    const int64_t i = e / channels / y.size(2) % y.size(1),
                  n = e / channels / y.size(2) / y.size(1);
    std::vector<double> values;
    for (int64_t r = i * a.stride.h - a.padding.h; r < i * a.stride.h - a.padding.h + a.window.h;
         ++r)
      for (int64_t s = j * a.stride.w - a.padding.w; s < j * a.stride.w - a.padding.w + a.window.w;
           ++s)
        if (r >= 0 && r < h && s >= 0 && s < w)
          values.push_back(x[((n * h + r) * w + s) * channels + c]);
    y[e] = f(values);
  }
  return y;
}

OpCase max_case(const char* name, Shape shape, Pool2dAttrs a) {
  return {.name = name,
          .inputs = {real(shape)},
          .call = [a](auto in) { return std::vector{max_pool2d(in[0], a)}; },
          .reference =
              [a](const std::vector<Array>& in) {
                return std::vector{fold(in[0], a, [](const std::vector<double>& v) {
                  return *std::max_element(v.begin(), v.end());
                })};
              }};
}

OpCase avg_case(const char* name, Shape shape, Pool2dAttrs a) {
  return {.name = name,
          .inputs = {real(shape)},
          .call = [a](auto in) { return std::vector{avg_pool2d(in[0], a)}; },
          .reference =
              [a](const std::vector<Array>& in) {
                return std::vector{fold(in[0], a, [a](const std::vector<double>& v) {
                  double sum = 0;
                  for (const double value : v) sum += value;
                  return sum / static_cast<double>(a.window.h * a.window.w);
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
  return {
      .good = {max_case("max", {2, 4, 6, 3}, {}),
               max_case("max_overlapping", {2, 5, 5, 2}, {.window = 3, .stride = 1, .padding = 1}),
               max_case("max_uneven", {1, 7, 6, 70}, {.window = {3, 2}, .stride = {2, 3}}),
               max_case("max_large_window", {1, 18, 17, 2}, {.window = 17, .stride = 1}),
               max_case("max_empty", {0, 4, 4, 3}, {}), max_case("max_one", {1, 2, 2, 1}, {}),
               special, ties(), avg_case("avg", {2, 4, 4, 3}, {}),
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
           "max_pool2d: the attributes do not fit: window 2x2, stride 2x2, padding "
           "4611686018427387904x4611686018427387904. Use sizes of at least 1 and a padding of at "
           "most half the window."},
          {"undefined", [] { global_avg_pool(Tensor()); },
           "global_avg_pool: the tensor is undefined. Pass one that was computed."},
          {"padding",
           [] {
             max_pool2d(ones({1, 4, 4, 1}), {.padding = 2});
           },
           "max_pool2d: the attributes do not fit: window 2x2, stride 2x2, padding 2x2. Use "
           "sizes of at least 1 and a padding of at most half the window."},
          {"integers",
           [] {
             max_pool2d(ones({1, 4, 4, 1}, {.dtype = DType::u8}));
           },
           "max_pool2d: a floating type is needed: got u8 [1, 4, 4, 1] on cpu. Cast it "
           "first."}}};
}

}  // namespace plimsoll
