#include "ops/attention/rope/rope.h"

#include "ops/indexing/gather/gather.h"
#include "ops/pointwise/copy/copy.h"
#include "ops/shape/view/view.h"
#include "tests/support/op_case.h"

namespace plimsoll {
namespace {

struct Setting {
  Shape x = {2, 3, 2, 6};
  int64_t width = 6;
  bool interleaved = false;
  double base = 10000;
  int64_t first = 0;
};

// Turns pairs as complex numbers, position by position.
Array turned(const Array& x, const Setting& s, const std::vector<double>& positions) {
  Array y = x;
  const int64_t T = x.size(1), H = x.size(2), D = x.size(3), pairs = s.width / 2;
  for (int64_t b = 0; b < x.size(0); ++b)
    for (int64_t t = 0; t < T; ++t)
      for (int64_t h = 0; h < H; ++h)
        for (int64_t i = 0; i < pairs; ++i) {
          const int64_t row = ((b * T + t) * H + h) * D;
          const int64_t first = row + (s.interleaved ? 2 * i : i);
          const int64_t second = row + (s.interleaved ? 2 * i + 1 : i + pairs);
          const double exponent = static_cast<double>(2 * i) / static_cast<double>(s.width);
          const double angle =
              positions[static_cast<size_t>(b * T + t)] / std::pow(s.base, exponent);
          y[first] = x[first] * std::cos(angle) - x[second] * std::sin(angle);
          y[second] = x[first] * std::sin(angle) + x[second] * std::cos(angle);
        }
  return y;
}

OpCase turns(const char* name, const Setting& s) {
  return {.name = name,
          .inputs = {real(s.x)},
          .call =
              [s](auto in) {
                const DType dtype = in[0].dtype() == DType::f64 ? DType::f64 : DType::f32;
                const auto [cos, sin] = rope_tables(s.x[1], s.width, s.base, s.first,
                                                    {.dtype = dtype, .device = in[0].device()});
                return std::vector{rope(in[0], cos, sin, {.interleaved = s.interleaved})};
              },
          .reference =
              [s](const std::vector<Array>& in) {
                std::vector<double> positions;
                for (int64_t i = 0; i < s.x[0] * s.x[1]; ++i)
                  positions.push_back(static_cast<double>(s.first + i % s.x[1]));
                return std::vector{turned(in[0], s, positions)};
              }};
}

// Every sequence has positions of its own, and tables are of x's type.
OpCase own_positions() {
  OpCase c = turns("own_positions", {});
  c.inputs.push_back(given_index({6}, {4, 0, 2, 1, 1, 3}));
  c.call = [](auto in) {
    const Placement placement{.dtype = in[0].dtype(), .device = in[0].device()};
    const auto [cos, sin] = rope_tables(5, 6, 10000, 0, placement);
    const auto rows = [&](const Tensor& table) {
      return reshape(index_select(table, 0, in[1]), {2, 3, 3});
    };
    return std::vector{rope(in[0], rows(cos), rows(sin))};
  };
  c.reference = [](const std::vector<Array>& in) {
    return std::vector{turned(in[0], {}, in[1].values)};
  };
  return c;
}

}  // namespace

OpCases rope_cases() {
  return {
      .good = {turns("halves", {}), turns("interleaved", {.interleaved = true}),
               turns("some_features", {.width = 4}),
               turns("some_interleaved", {.width = 2, .interleaved = true}),
               turns("other_base", {.base = 100, .first = 7}),
               turns("wide", {.x = {1, 2, 1, 70}, .width = 70}), own_positions(),
               turns("no_batch", {.x = {0, 3, 2, 6}})},
      .bad = {{"rank",
               [] {
                 rope(ones({2, 3, 4}), ones({3, 2}), ones({3, 2}));
               },
               "rope: x is not [B, T, H, D]: [2, 3, 4]. Reshape it to [batch, length, heads, "
               "features]."},
              {"length",
               [] {
                 rope(ones({2, 3, 1, 4}), ones({4, 2}), ones({4, 2}));
               },
               "rope: cos and sin do not fit: [4, 2] and [4, 2] for x [2, 3, 1, 4]. Give both as "
               "[T, R / 2] or [B, T, R / 2]."},
              {"types",
               [] {
                 const Tensor angles = ones({3, 2}, {.dtype = DType::f64});
                 rope(ones({2, 3, 1, 4}), angles, angles);
               },
               "rope: cos and sin have the wrong type: got f64 and f64 for f32 data. Give them in "
               "f32."},
              {"integers",
               [] {
                 rope(ones({2, 3, 1, 4}, {.dtype = DType::i32}), ones({3, 2}), ones({3, 2}));
               },
               "rope: a floating type is needed: got i32 [2, 3, 1, 4] on cpu. Cast it first."},
              {"odd_width", [] { rope_tables(4, 3); },
               "rope_tables: no such tables: 4 positions, width 3, base 10000. Use an even width "
               "and a positive base."}}};
}

}  // namespace plimsoll
