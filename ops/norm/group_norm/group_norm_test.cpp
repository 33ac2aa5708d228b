#include "ops/norm/group_norm/group_norm.h"

#include "ops/pointwise/copy/copy.h"
#include "ops/random/full/full.h"
#include "tests/support/op_case.h"

namespace plimsoll {
namespace {

std::vector<Array> reference(const std::vector<Array>& in, int64_t groups, double eps) {
  const Array& x = in[0];
  const int64_t channels = in[1].size(0), images = x.size(0);
  Array y(x.shape);
  if (count(x.shape) == 0) return {y};
  const int64_t positions = count(x.shape) / images / channels, width = channels / groups;
  for (int64_t image = 0; image < images; ++image)
    for (int64_t group = 0; group < groups; ++group) {
      std::vector<int64_t> members;
      for (int64_t p = 0; p < positions; ++p)
        for (int64_t c = group * width; c < (group + 1) * width; ++c)
          members.push_back((image * positions + p) * channels + c);
      long double mean = 0, variance = 0;  // so that the reference is exact far away from zero
      for (const int64_t i : members) mean += x[i];
      mean /= static_cast<long double>(members.size());
      for (const int64_t i : members) variance += (x[i] - mean) * (x[i] - mean);
      variance /= static_cast<long double>(members.size());
      for (const int64_t i : members)
        y[i] = static_cast<double>((x[i] - mean) / std::sqrt(variance + eps) * in[1][i % channels] +
                                   in[2][i % channels]);
    }
  return {y};
}

// gamma and beta are given in the type that group_norm asks for: f32 for 16-bit data.
OpCase normalised(const char* name, InputSpec x, int64_t groups, double eps = 1e-5) {
  const int64_t channels = x.shape.back();
  return {.name = name,
          .inputs = {x, real({channels}, 0.5, 2), real({channels})},
          .call =
              [=](auto in) {
                const DType wide = in[0].dtype() == DType::f64 ? DType::f64 : DType::f32;
                return std::vector{
                    group_norm(in[0], groups, cast(in[1], wide), cast(in[2], wide), eps)};
              },
          .reference = [=](const std::vector<Array>& in) { return reference(in, groups, eps); }};
}

OpCase instances() {
  OpCase c = normalised("instances", real({2, 3, 2, 4}), 4);
  c.call = [](auto in) {
    const DType wide = in[0].dtype() == DType::f64 ? DType::f64 : DType::f32;
    return std::vector{instance_norm(in[0], cast(in[1], wide), cast(in[2], wide))};
  };
  return c;
}

}  // namespace

OpCases group_norm_cases() {
  return {.good = {normalised("two_groups", real({2, 3, 2, 4}), 2),
                   normalised("one_group", real({2, 3, 2, 3}, -2, 3), 1),
                   normalised("three_of_odd_width", real({1, 2, 2, 15}), 3), instances(),
                   normalised("no_positions_axis", real({3, 6}), 2),
                   normalised("large_eps", real({2, 4, 4}), 2, 0.5),
                   // Not for 16 bits, which cannot tell these values apart.
                   only_in({DType::f64, DType::f32},
                           normalised("offset", real({1, 16, 6}, 499, 501), 2)),
                   // Enough positions for several chunks.
                   shifted(normalised("several_chunks", real({1, 1, 8}), 2), {2, 2500, 8}),
                   normalised("no_images", real({0, 2, 4}), 2),
                   normalised("no_positions", real({2, 0, 4}), 2),
                   normalised("no_channels", real({2, 3, 0}), 1)},
          .bad = {{"sizes",
                   [] {
                     group_norm(ones({2, 3, 4}), 2, ones({3}), ones({3}));
                   },
                   "group_norm: gamma and beta do not fit: [3] and [3] for x [2, 3, 4]. Give x as "
                   "[N, ..., C] and both as [C]."},
                  {"rank", [] { group_norm(ones({4}), 2, ones({4}), ones({4})); },
                   "group_norm: gamma and beta do not fit: [4] and [4] for x [4]. Give x as [N, "
                   "..., C] and both as [C]."},
                  {"groups",
                   [] {
                     group_norm(ones({2, 3, 4}), 3, ones({4}), ones({4}));
                   },
                   "group_norm: 3 groups do not divide the channels: [2, 3, 4]. Choose a number "
                   "that does."},
                  {"no_groups",
                   [] {
                     group_norm(ones({2, 3, 4}), 0, ones({4}), ones({4}));
                   },
                   "group_norm: 0 groups do not divide the channels: [2, 3, 4]. Choose a number "
                   "that does."},
                  {"narrow_gamma",
                   [] {
                     const Placement bf16{.dtype = DType::bf16};
                     group_norm(ones({2, 3}, bf16), 1, ones({3}, bf16), ones({3}, bf16));
                   },
                   "group_norm: gamma and beta have the wrong type: got bf16 and bf16 for bf16 "
                   "data. Give them in f32."},
                  {"integers",
                   [] {
                     group_norm(ones({2, 3}, {.dtype = DType::i32}), 1, ones({3}), ones({3}));
                   },
                   "group_norm: a floating type is needed: got i32 [2, 3] on cpu. Cast it first."},
                  {"undefined",
                   [] {
                     instance_norm(ones({2, 3}), Tensor(), Tensor());
                   },
                   "instance_norm: the tensor is undefined. Pass one that was computed."},
                  {"eps",
                   [] {
                     group_norm(ones({2, 3}), 1, ones({3}), ones({3}), -1);
                   },
                   "group_norm: eps is not a number from 0: -1. Use 1e-5 or so."}}};
}

}  // namespace plimsoll
