#include "ops/conv/conv2d/conv2d.h"

#include "ops/random/full/full.h"
#include "tests/support/op_case.h"

namespace plimsoll {
namespace {

// One convolution of a case: sizes of x and of w, attributes.
struct Sizes {
  Shape x, w;
  Conv2dAttrs attrs = {};
  Shape y() const {
    const auto& [stride, pad, dilation, groups] = attrs;
    return {x[0], (x[1] + pad.top + pad.bottom - dilation.h * (w[1] - 1) - 1) / stride.h + 1,
            (x[2] + pad.left + pad.right - dilation.w * (w[2] - 1) - 1) / stride.w + 1, w[0]};
  }
};

// Visits all products of the definition, a row of channels at a time, as the element numbers of y
// and of the first channel in x and w.
template <class F>
void for_each_row(const Sizes& z, F&& f) {
  const Shape &x = z.x, &w = z.w, y = z.y();
  const int64_t outputs = w[0] / z.attrs.groups;
  for (int64_t n = 0; n < y[0]; ++n)
    for (int64_t i = 0; i < y[1]; ++i)
      for (int64_t j = 0; j < y[2]; ++j)
        for (int64_t o = 0; o < y[3]; ++o)
          for (int64_t r = 0; r < w[1]; ++r)
            for (int64_t s = 0; s < w[2]; ++s) {
              const int64_t h = i * z.attrs.stride.h + r * z.attrs.dilation.h - z.attrs.padding.top;
              const int64_t v =
                  j * z.attrs.stride.w + s * z.attrs.dilation.w - z.attrs.padding.left;
              if (h < 0 || h >= x[1] || v < 0 || v >= x[2]) continue;
              f(((n * y[1] + i) * y[2] + j) * y[3] + o,
                ((n * x[1] + h) * x[2] + v) * x[3] + o / outputs * w[3],
                ((o * w[1] + r) * w[2] + s) * w[3]);
            }
}

// to += factor * from, for n of each. The references spend their time here.
void add_multiples(int64_t n, double factor, const double* from, double* to) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) to[i] += factor * from[i];
}
double dot(int64_t n, const double* a, const double* b) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

OpCase forward(const char* name, const Sizes& z) {
  return {.name = name,
          .inputs = {real(z.x), real(z.w)},
          .call = [z](auto in) { return std::vector{conv2d(in[0], in[1], z.attrs)}; },
          .reference =
              [z](const auto& in) {
                Array y(z.y());
                const double *x = in[0].values.data(), *w = in[1].values.data();
                for_each_row(z, [&](int64_t at_y, int64_t at_x, int64_t at_w) {
                  y[at_y] += dot(z.w[3], x + at_x, w + at_w);
                });
                return std::vector{y};
              }};
}

OpCase with_bias(const char* name, const Sizes& z) {
  OpCase c = forward(name, z);
  c.name = cat("bias_", name);
  c.inputs.push_back(real({z.w[0]}));
  c.call = [z](auto in) { return std::vector{conv2d(in[0], in[1], in[2], z.attrs)}; };
  c.reference = [without = c.reference](const auto& in) {
    std::vector<Array> y = without(in);
    for (int64_t i = 0; i < count(y[0].shape); ++i) y[0][i] += in[2][i % in[2].shape[0]];
    return y;
  };
  return c;
}

OpCase input_grad(const char* name, const Sizes& z) {
  return {.name = cat("input_grad_", name),
          .inputs = {real(z.y()), real(z.w)},
          .call =
              [z](auto in) {
                return std::vector{conv2d_input_grad(in[0], in[1], {z.x[1], z.x[2]}, z.attrs)};
              },
          .reference =
              [z](const auto& in) {
                Array dx(z.x);
                const double* w = in[1].values.data();
                for_each_row(z, [&](int64_t at_y, int64_t at_x, int64_t at_w) {
                  add_multiples(z.w[3], in[0][at_y], w + at_w, dx.values.data() + at_x);
                });
                return std::vector{dx};
              }};
}

OpCase weight_grad(const char* name, const Sizes& z) {
  return {.name = cat("weight_grad_", name),
          .inputs = {real(z.x), real(z.y())},
          .call =
              [z](auto in) {
                return std::vector{conv2d_weight_grad(in[0], in[1], {z.w[1], z.w[2]}, z.attrs)};
              },
          .reference =
              [z](const auto& in) {
                Array dw(z.w);
                const double* x = in[0].values.data();
                for_each_row(z, [&](int64_t at_y, int64_t at_x, int64_t at_w) {
                  add_multiples(z.w[3], in[1][at_y], x + at_x, dw.values.data() + at_w);
                });
                return std::vector{dw};
              }};
}

std::vector<OpCase> good_cases() {
  const std::pair<const char*, Sizes> small[] = {
      {"plain", {{2, 5, 6, 3}, {4, 3, 3, 3}}},
      {"padded", {{2, 5, 4, 3}, {4, 3, 3, 3}, {.padding = 1}}},
      {"stride", {{2, 7, 6, 2}, {3, 3, 3, 2}, {.stride = 2, .padding = 1}}},
      {"uneven", {{1, 7, 9, 2}, {3, 3, 2, 2}, {.stride = {2, 3}, .padding = {1, 2}}}},
      {"skipping", {{1, 8, 7, 2}, {3, 2, 1, 2}, {.stride = 3}}},
      {"pointwise", {{2, 3, 4, 5}, {7, 1, 1, 5}}},
      {"pointwise_stride", {{1, 5, 4, 3}, {2, 1, 1, 3}, {.stride = 2}}},
      {"wide_padding", {{1, 3, 2, 2}, {3, 2, 2, 2}, {.padding = 3}}},
      {"filter_over_image", {{1, 2, 2, 2}, {3, 5, 4, 2}, {.padding = 2}}},
      {"one_channel", {{2, 6, 6, 1}, {5, 5, 5, 1}, {.padding = 2}}},
      {"many_filters", {{1, 3, 4, 2}, {41, 2, 2, 2}}},
      {"groups", {{1, 4, 4, 6}, {4, 3, 3, 3}, {.padding = 1, .groups = 2}}},
      {"depthwise", {{2, 5, 4, 5}, {5, 3, 3, 1}, {.padding = 1, .groups = 5}}},
      {"depthwise_wide", {{1, 3, 2, 43}, {43, 2, 2, 1}, {.padding = 1, .groups = 43}}},
      {"depthwise_stride", {{1, 6, 7, 3}, {3, 3, 3, 1}, {.stride = 2, .padding = 1, .groups = 3}}},
      {"depthwise_multiplier",
       {{1, 5, 4, 3}, {6, 3, 2, 1}, {.stride = {1, 2}, .padding = 1, .groups = 3}}},
      {"dilated", {{1, 7, 8, 3}, {4, 3, 3, 3}, {.padding = 2, .dilation = 2}}},
      {"dilated_unevenly", {{1, 8, 9, 2}, {3, 3, 2, 2}, {.padding = {1, 3}, .dilation = {3, 4}}}},
      // The dilation is a multiple of the stride, a part of it, and neither.
      {"dilated_stride", {{1, 9, 9, 2}, {3, 3, 3, 2}, {.stride = 2, .padding = 1, .dilation = 4}}},
      {"dilated_less", {{1, 9, 9, 2}, {3, 3, 3, 2}, {.stride = {4, 2}, .dilation = {2, 3}}}},
      {"dilated_both", {{1, 15, 13, 1}, {2, 4, 3, 1}, {.stride = {6, 4}, .dilation = {4, 6}}}},
      {"dilated_groups",
       {{1, 6, 6, 4}, {6, 3, 3, 2}, {.padding = {0, 2, 3, 1}, .dilation = 2, .groups = 2}}},
      {"dilated_depthwise",
       {{1, 7, 6, 5}, {5, 3, 3, 1}, {.padding = 2, .dilation = 2, .groups = 5}}},
      {"dilated_depthwise_stride",
       {{1, 8, 9, 3},
        {6, 3, 2, 1},
        {.stride = {3, 2}, .padding = 1, .dilation = {2, 4}, .groups = 3}}},
      {"asymmetric", {{1, 5, 4, 3}, {2, 2, 2, 3}, {.padding = {0, 1, 0, 1}}}},
      {"asymmetric_stride", {{2, 6, 5, 2}, {3, 3, 3, 2}, {.stride = 2, .padding = {0, 1, 2, 0}}}},
      {"asymmetric_depthwise",
       {{1, 4, 5, 3}, {3, 4, 3, 1}, {.padding = {3, 0, 0, 2}, .groups = 3}}},
      {"many_filters_each", {{1, 3, 3, 2}, {18, 2, 2, 1}, {.groups = 2}}},
      {"ones", {{1, 1, 1, 1}, {1, 1, 1, 1}}},
      {"no_images", {{0, 4, 4, 2}, {3, 3, 3, 2}}},
      {"no_channels", {{1, 4, 4, 0}, {3, 3, 3, 0}}},
      {"no_filters", {{1, 4, 4, 2}, {0, 3, 3, 2}}},
  };
  // Larger than a tile in every direction; too large to be gradchecked element by element.
  const std::pair<const char*, Sizes> large[] = {
      {"tiles", {{2, 19, 23, 40}, {34, 3, 3, 40}, {.padding = 1}}},
      {"product_of_many", {{2, 3, 5, 90}, {92, 1, 1, 90}}},
      {"tiles_in_a_row", {{1, 2, 1700, 40}, {3, 1, 3, 40}, {.stride = {1, 2}}}},
      {"tiles_of_weight_grad", {{2, 21, 40, 80}, {3, 3, 3, 80}, {.padding = 1}}},
      {"tiles_depthwise",
       {{2, 20, 41, 50}, {50, 3, 3, 1}, {.stride = 2, .padding = 1, .groups = 50}}},
      {"tiles_dilated", {{1, 21, 40, 48}, {48, 3, 3, 48}, {.padding = 3, .dilation = 3}}},
      {"tiles_dilated_depthwise",
       {{1, 40, 41, 50}, {50, 3, 3, 1}, {.stride = 2, .padding = 2, .dilation = 3, .groups = 50}}},
      {"panels", {{1, 2, 2, 1100}, {70, 2, 2, 1100}, {.padding = 1}}},
      {"winograd", {{2, 17, 22, 48}, {32, 3, 3, 48}, {.padding = 1}}},
      {"winograd_unpadded", {{5, 14, 13, 32}, {64, 3, 3, 32}}},
      {"winograd_wide_padding", {{3, 10, 13, 32}, {48, 3, 3, 32}, {.padding = {2, 1}}}},
      {"winograd_pieces", {{4, 32, 33, 32}, {32, 3, 3, 32}, {.padding = 1}}},
      {"winograd_parts", {{3, 12, 11, 160}, {80, 3, 3, 160}, {.padding = 1}}},
      {"winograd_of_five", {{2, 11, 14, 32}, {48, 5, 5, 32}, {.padding = 2}}},
      {"winograd_of_five_in_pieces", {{9, 11, 14, 16}, {16, 5, 5, 16}, {.padding = {3, 1}}}},
      // Filters that are transformed in two turns, the second of which has fewer outputs.
      {"winograd_turns", {{1, 20, 16, 512}, {112, 3, 3, 512}, {.padding = 1}}},
      // Bands of windows that are read in place (implicit_gemm.cpp).
      {"bands_unpadded", {{2, 7, 37, 32}, {17, 3, 3, 32}, {.stride = 2}}},
      {"bands_dilated", {{1, 9, 12, 16}, {40, 3, 2, 16}, {.padding = {2, 1}, .dilation = {2, 1}}}},
      {"bands_of_twelve", {{2, 5, 12, 64}, {32, 1, 5, 64}, {.padding = {0, 2}}}},
  };
  std::vector<OpCase> cases;
  for (const auto& [name, sizes] : small) {
    cases.push_back(forward(name, sizes));
    cases.push_back(with_bias(name, sizes));
    cases.push_back(input_grad(name, sizes));
    cases.push_back(weight_grad(name, sizes));
  }
  for (const auto& [name, sizes] : large)
    for (OpCase c : {forward(name, sizes), with_bias(name, sizes), input_grad(name, sizes),
                     weight_grad(name, sizes)}) {
      c.differentiable = false;
      // Up to 4600 terms per sum; Winograd's transforms add errors of their own.
      c.tolerance = std::string_view(name).starts_with("winograd") ? 3 : 2;
      if (std::string_view(name) == "winograd_turns")  // it takes a simulated GPU long
        c.dtypes = {DType::f32, DType::bf16};
      cases.push_back(c);
    }
  return cases;
}

}  // namespace

OpCases conv2d_cases() {
  const auto image = [](const Shape& shape) { return ones(shape); };
  return {
      .good = good_cases(),
      .bad = {
          {"dtypes",
           [=] {
             conv2d(image({1, 4, 4, 2}), ones({3, 3, 3, 2}, {.dtype = DType::f64}));
           },
           "conv2d: two tensors of one floating type are needed: got f32 and f64. Cast one of "
           "them."},
          {"bias_dtype",
           [=] {
             conv2d(image({1, 4, 4, 2}), ones({3, 3, 3, 2}), ones({3}, {.dtype = DType::f64}));
           },
           "conv2d: the bias is f64 and the image f32. Cast one of them."},
          {"bias_shape",
           [=] {
             conv2d(image({1, 4, 4, 2}), ones({3, 3, 3, 2}), ones({1}));
           },
           "conv2d: the bias does not fit: [1] for filters [3, 3, 3, 2]. Give it the shape [3]."},
          {"rank",
           [=] {
             conv2d(image({4, 4, 2}), ones({3, 3, 3, 2}));
           },
           "conv2d: images [N, H, W, C] and filters [O, KH, KW, C / groups] are needed: got "
           "[4, 4, 2] and [3, 3, 3, 2]. Reshape to 4 axes."},
          {"stride",
           [=] {
             conv2d(image({1, 4, 4, 2}), ones({3, 3, 3, 2}), {.stride = {1, 0}});
           },
           "conv2d: stride 1x0, padding 0x0, dilation 1x1 and groups 1 make no convolution. All "
           "start at 1, padding at 0."},
          {"dilation",
           [=] {
             conv2d(image({1, 4, 4, 2}), ones({3, 3, 3, 2}),
                    {.padding = {0, 1, 2, 3}, .dilation = 0});
           },
           "conv2d: stride 1x1, padding {0, 1, 2, 3}, dilation 0x0 and groups 1 make no "
           "convolution. All start at 1, padding at 0."},
          {"wide dilation",
           [=] {
             conv2d(image({1, 4, 4, 2}), ones({3, 3, 3, 2}), {.dilation = {1, 2}});
           },
           "conv2d: a filter of 3x3 and dilation 1x2 does not fit an image of 4x4 with padding "
           "0x0. Pad more or use a smaller filter."},
          {"groups",
           [=] {
             conv2d(image({1, 4, 4, 4}), ones({3, 3, 3, 2}), {.groups = 2});
           },
           "conv2d: an image [1, 4, 4, 4] and filters [3, 3, 3, 2] do not fit 2 group(s). w is "
           "[O, KH, KW, C / groups], and groups must divide O."},
          {"channels",
           [=] {
             conv2d(image({1, 4, 4, 4}), ones({3, 3, 3, 2}));
           },
           "conv2d: an image [1, 4, 4, 4] and filters [3, 3, 3, 2] do not fit 1 group(s). w is "
           "[O, KH, KW, C / groups], and groups must divide O."},
          {"filter",
           [=] {
             conv2d(image({1, 4, 2, 2}), ones({3, 3, 5, 2}), {.padding = 1});
           },
           "conv2d: a filter of 3x5 and dilation 1x1 does not fit an image of 4x2 with padding "
           "1x1. Pad more or use a smaller filter."},
          {"input_grad",
           [=] {
             conv2d_input_grad(image({1, 2, 2, 3}), ones({3, 3, 3, 2}), {5, 4});
           },
           "conv2d_input_grad: dy is [1, 2, 2, 3] but conv2d would make [1, 3, 2, 3]. Pass the "
           "sizes and attributes of the forward convolution."},
          {"negative_image",
           [=] {
             conv2d_input_grad(image({1, 2, 2, 3}), ones({3, 3, 3, 2}), {-1, 4});
           },
           "shape: a size is negative: [1, -1, 4, 2]. Use sizes of 0 or more."},
          {"weight_grad",
           [=] {
             conv2d_weight_grad(image({1, 4, 4, 2}), ones({1, 2, 2, 3}), 2);
           },
           "conv2d_weight_grad: dy is [1, 2, 2, 3] but conv2d would make [1, 3, 3, 3]. Pass the "
           "sizes and attributes of the forward convolution."}}};
}

}  // namespace plimsoll
