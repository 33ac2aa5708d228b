#include "ops/conv/conv1d/conv1d.h"

#include "ops/random/full/full.h"
#include "tests/support/op_case.h"

namespace plimsoll {
namespace {

// x is [N, L, C] and w is [O, K, C / groups].
Array convolved(const Array& x, const Array& w, const Conv1dAttrs& a) {
  const int64_t length = x.size(1), c = x.size(2), o = w.size(0), k = w.size(1), own = w.size(2);
  const int64_t span = a.dilation * (k - 1) + 1;
  Array y({x.size(0), (length + a.padding.before + a.padding.after - span) / a.stride + 1, o});
  for (int64_t e = 0; e < count(y.shape); ++e) {
    const int64_t filter = e % o, i = e / o % y.size(1), n = e / o / y.size(1);
    for (int64_t tap = 0; tap < k; ++tap) {
      const int64_t from = i * a.stride + tap * a.dilation - a.padding.before;
      if (from < 0 || from >= length) continue;
      for (int64_t b = 0; b < own; ++b)
        y[e] += x[(n * length + from) * c + filter / (o / a.groups) * own + b] *
                w[(filter * k + tap) * own + b];
    }
  }
  return y;
}

// x is [N, L, C] and w is [C, K, O / groups].
Array scattered(const Array& x, const Array& w, const ConvTranspose1dAttrs& a) {
  const int64_t length = x.size(1), c = x.size(2), k = w.size(1), own = w.size(2);
  const int64_t outputs = own * a.groups;
  const int64_t size = (length - 1) * a.stride - a.padding.before - a.padding.after +
                       a.dilation * (k - 1) + a.output_padding + 1;
  Array y({x.size(0), size, outputs});
  for (int64_t e = 0; e < count(x.shape); ++e) {
    const int64_t channel = e % c, i = e / c % length, n = e / c / length;
    for (int64_t tap = 0; tap < k; ++tap) {
      const int64_t to = i * a.stride + tap * a.dilation - a.padding.before;
      if (to < 0 || to >= size) continue;
      for (int64_t b = 0; b < own; ++b)
        y[(n * size + to) * outputs + channel / (c / a.groups) * own + b] +=
            x[e] * w[(channel * k + tap) * own + b];
    }
  }
  return y;
}

OpCase forward(const char* name, Shape x, Shape w, Conv1dAttrs a) {
  return {.name = name,
          .inputs = {real(x), real(w)},
          .call = [a](auto in) { return std::vector{conv1d(in[0], in[1], a)}; },
          .reference = [a](const auto& in) { return std::vector{convolved(in[0], in[1], a)}; }};
}

OpCase with_bias(const char* name, Shape x, Shape w, Conv1dAttrs a) {
  return {.name = cat("bias_", name),
          .inputs = {real(x), real(w), real({w[0]})},
          .call = [a](auto in) { return std::vector{conv1d(in[0], in[1], in[2], a)}; },
          .reference =
              [a](const auto& in) {
                Array y = convolved(in[0], in[1], a);
                for (int64_t e = 0; e < count(y.shape); ++e) y[e] += in[2][e % y.size(2)];
                return std::vector{y};
              }};
}

OpCase transposed(const char* name, Shape x, Shape w, ConvTranspose1dAttrs a) {
  return {.name = cat("transposed_", name),
          .inputs = {real(x), real(w)},
          .call = [a](auto in) { return std::vector{conv_transpose1d(in[0], in[1], a)}; },
          .reference = [a](const auto& in) { return std::vector{scattered(in[0], in[1], a)}; }};
}

}  // namespace

OpCases conv1d_cases() {
  return {
      .good = {forward("plain", {2, 7, 3}, {4, 3, 3}, {}),
               forward("stride", {2, 9, 2}, {3, 4, 2}, {.stride = 2, .padding = 1}),
               forward("causal", {1, 6, 2}, {2, 3, 2}, {.padding = {4, 0}, .dilation = 2}),
               forward("groups", {1, 6, 4}, {6, 2, 2}, {.padding = {0, 1}, .groups = 2}),
               forward("depthwise", {2, 5, 9}, {9, 3, 1}, {.padding = 1, .groups = 9}),
               with_bias("groups", {1, 6, 4}, {6, 2, 2}, {.padding = {0, 1}, .groups = 2}),
               forward("one", {1, 1, 1}, {1, 1, 1}, {}), forward("empty", {0, 5, 2}, {3, 2, 2}, {}),
               transposed("plain", {2, 4, 3}, {3, 3, 2}, {}),
               transposed("stride", {2, 4, 2}, {2, 3, 3},
                          {.stride = 2, .padding = 1, .output_padding = 1}),
               transposed("dilated", {1, 5, 4}, {4, 3, 3},
                          {.stride = 3, .padding = {2, 0}, .dilation = 2, .groups = 2})},
      .bad = {{"rank",
               [] {
                 conv1d(ones({1, 5, 2}), ones({3, 1, 2, 2}));
               },
               "conv1d: sequences [N, L, C] and filters of 3 axes are needed: got [1, 5, 2] and "
               "[3, 1, 2, 2]. Reshape to 3 axes."},
              {"transposed rank",
               [] {
                 conv_transpose1d(ones({5, 2}), ones({2, 3, 2}));
               },
               "conv_transpose1d: sequences [N, L, C] and filters of 3 axes are needed: got [5, 2] "
               "and [2, 3, 2]. Reshape to 3 axes."},
              {"undefined",
               [] {
                 conv1d(Tensor(), ones({2, 3, 2}));
               },
               "conv1d: the tensor is undefined. Pass one that was computed."},
              {"short",
               [] {
                 conv1d(ones({1, 4, 2}), ones({3, 3, 2}), {.dilation = 2});
               },
               "conv2d: a filter of 1x3 and dilation 1x2 does not fit an image of 1x4 with padding "
               "0x0. Pad more or use a smaller filter."}}};
}

}  // namespace plimsoll
