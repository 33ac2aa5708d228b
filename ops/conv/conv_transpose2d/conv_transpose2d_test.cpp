#include "ops/conv/conv_transpose2d/conv_transpose2d.h"

#include "ops/random/full/full.h"
#include "tests/support/op_case.h"

namespace plimsoll {
namespace {

// Adds the filter of every pixel where it belongs.
Array scattered(const Array& x, const Array& w, const ConvTranspose2dAttrs& a) {
  const int64_t kh = w.size(1), kw = w.size(2), own = w.size(3), outputs = own * a.groups;
  const int64_t oh = (x.size(1) - 1) * a.stride.h - a.padding.top - a.padding.bottom +
                     a.dilation.h * (kh - 1) + a.output_padding.h + 1;
  const int64_t ow = (x.size(2) - 1) * a.stride.w - a.padding.left - a.padding.right +
                     a.dilation.w * (kw - 1) + a.output_padding.w + 1;
  Array y({x.size(0), oh, ow, outputs});
  int64_t at = 0;  // in x
  for (int64_t n = 0; n < x.size(0); ++n)
    for (int64_t i = 0; i < x.size(1); ++i)
      for (int64_t j = 0; j < x.size(2); ++j)
        for (int64_t c = 0; c < x.size(3); ++c, ++at)
          for (int64_t r = 0; r < kh; ++r)
            for (int64_t s = 0; s < kw; ++s)
              for (int64_t o = 0; o < own; ++o) {
                const int64_t h = i * a.stride.h + r * a.dilation.h - a.padding.top;
                const int64_t v = j * a.stride.w + s * a.dilation.w - a.padding.left;
                if (h < 0 || h >= oh || v < 0 || v >= ow) continue;
                const int64_t group = c / (x.size(3) / a.groups);
                y[((n * oh + h) * ow + v) * outputs + group * own + o] +=
                    x[at] * w[((c * kh + r) * kw + s) * own + o];
              }
  return y;
}

OpCase good(const char* name, Shape x, Shape w, ConvTranspose2dAttrs a) {
  return {.name = name,
          .inputs = {real(x), real(w)},
          .call = [a](auto in) { return std::vector{conv_transpose2d(in[0], in[1], a)}; },
          .reference = [a](const auto& in) { return std::vector{scattered(in[0], in[1], a)}; }};
}

}  // namespace

OpCases conv_transpose2d_cases() {
  return {
      .good = {good("plain", {2, 3, 4, 3}, {3, 3, 2, 2}, {}),
               good("doubles", {1, 3, 4, 2}, {2, 2, 2, 3}, {.stride = 2}),
               good("output_padding", {1, 4, 3, 2}, {2, 3, 3, 3},
                    {.stride = 2, .padding = 1, .output_padding = 1}),
               good("uneven", {1, 3, 4, 2}, {2, 3, 2, 2},
                    {.stride = {3, 1}, .padding = {1, 0, 0, 2}, .output_padding = {2, 0}}),
               good("dilated", {1, 3, 3, 2}, {2, 3, 2, 2}, {.stride = 2, .dilation = {2, 3}}),
               good("output_padding_of_dilation", {2, 3, 4, 2}, {2, 2, 2, 3},
                    {.stride = {1, 2}, .output_padding = {2, 3}, .dilation = {3, 5}}),
               good("groups", {1, 3, 3, 4}, {4, 2, 3, 3}, {.stride = 2, .padding = 1, .groups = 2}),
               good("depthwise", {1, 3, 4, 5}, {5, 3, 3, 1},
                    {.stride = 2, .padding = 1, .groups = 5}),
               good("gaps", {1, 3, 3, 2}, {2, 1, 2, 2}, {.stride = 3}),
               good("one", {1, 1, 1, 1}, {1, 1, 1, 1}, {}),
               good("no_images", {0, 3, 3, 2}, {2, 2, 2, 3}, {}),
               good("no_channels", {1, 3, 3, 0}, {0, 2, 2, 3}, {})},
      .bad = {
          {"undefined",
           [] {
             conv_transpose2d(ones({1, 2, 2, 1}), Tensor());
           },
           "conv_transpose2d: the tensor is undefined. Pass one that was computed."},
          {"rank",
           [] {
             conv_transpose2d(ones({2, 2, 1}), ones({1, 2, 2, 1}));
           },
           "conv_transpose2d: images [N, H, W, C] and filters [C, KH, KW, O / groups] are needed: "
           "got [2, 2, 1] and [1, 2, 2, 1]. Reshape to 4 axes."},
          {"attributes",
           [] {
             conv_transpose2d(ones({1, 2, 2, 1}), ones({1, 2, 2, 1}), {.stride = 0});
           },
           "conv_transpose2d: stride 0x0, padding 0x0, output padding 0x0, dilation 1x1 and groups "
           "1 make no convolution. All start at 1, paddings at 0."},
          {"output padding",
           [] {
             conv_transpose2d(ones({1, 2, 2, 1}), ones({1, 2, 2, 1}),
                              {.stride = 2, .output_padding = {1, 2}});
           },
           "conv_transpose2d: output padding 1x2 is too large for stride 2x2 and dilation 1x1. "
           "Stay below one of them."},
          {"channels",
           [] {
             conv_transpose2d(ones({1, 2, 2, 3}), ones({2, 2, 2, 3}));
           },
           "conv_transpose2d: an image [1, 2, 2, 3] and filters [2, 2, 2, 3] do not fit 1 "
           "group(s). w is [C, KH, KW, O / groups], and groups must divide C."},
          {"no pixels",
           [] {
             conv_transpose2d(ones({1, 2, 2, 3}), ones({3, 2, 2, 3}), {.padding = {0, 0, 2, 1}});
           },
           "conv_transpose2d: an image [1, 2, 2, 3] and filters [3, 2, 2, 3] with padding "
           "{0, 0, 2, 1} leave a result without pixels. Pad less."},
          {"dtypes",
           [] {
             conv_transpose2d(ones({1, 2, 2, 1}), ones({1, 2, 2, 1}, {.dtype = DType::f64}));
           },
           "conv2d_input_grad: two tensors of one floating type are needed: got f32 and f64. Cast "
           "one of them."}}};
}

}  // namespace plimsoll
