#include "ops/quantise/quantise/quantise.h"

#include <algorithm>
#include <cmath>

#include "ops/common/dynamic_code.h"
#include "ops/pointwise/copy/copy.h"
#include "ops/quantise/common/format.h"
#include "ops/random/full/full.h"
#include "tests/support/op_case.h"

namespace plimsoll {
namespace {

// The number of the value nearest to x.
template <class Value>
double nearest(double x, int n, const Value& value) {
  int best = 0;
  for (int i = 1; i < n; ++i)
    if (std::abs(x - value(i)) < std::abs(x - value(best))) best = i;
  return best;
}

double largest_of(const Array& x, int64_t first, int64_t end) {
  double largest = 0;
  for (int64_t i = first; i < end; ++i) largest = std::max(largest, std::abs(x[i]));
  return largest;
}

std::vector<Array> int8_reference(const std::vector<Array>& in) {
  const Array& w = in[0];
  const int64_t rows = w.size(0), columns = w.size(1);
  Array codes(w.shape), scales({rows});
  for (int64_t row = 0; row < rows; ++row) {
    scales[row] = largest_of(w, row * columns, (row + 1) * columns);
    for (int64_t i = row * columns; i < (row + 1) * columns; ++i) {
      const double code = scales[row] == 0 ? 0 : std::nearbyint(w[i] / scales[row] * 127);
      codes[i] = code < 0 ? code + 256 : code;  // its bits
    }
  }
  return {codes, scales};
}

std::vector<Array> nf4_reference(const std::vector<Array>& in) {
  const Array& w = in[0];
  const int64_t n = count(w.shape), blocks = (n + 63) / 64;
  Array codes({(n + 1) / 2}), scales({blocks}), block_scales({(blocks + 255) / 256}),
      offset(Shape{});
  for (int64_t i = 0; i < n + n % 2; ++i) {
    const double largest = largest_of(w, i / 64 * 64, std::min(n, i / 64 * 64 + 64));
    const double x = i < n && largest > 0 ? w[i] / largest : 0;
    codes[i / 2] += nearest(x, 16, nf4::value) * (i % 2 == 0 ? 16 : 1);
    if (i % 64 == 0) scales[i / 64] = largest;
  }
  for (const double scale : scales.values) offset[0] += scale / static_cast<double>(blocks);
  for (double& scale : scales.values) scale -= offset[0];
  const Array centred = scales;
  for (int64_t b = 0; b < blocks; ++b) {
    double& largest = block_scales[b / 256];
    largest = largest_of(centred, b / 256 * 256, std::min(blocks, b / 256 * 256 + 256));
    const double place = largest > 0 ? std::round((centred[b] / largest + 1) * 32767.5) : 0;
    scales[b] =
        nearest(place / 32767.5 - 1, 256, [](int i) { return dynamic_code_value(i, true); });
  }
  return {codes, scales, block_scales, offset};
}

constexpr Quantisation kKinds[] = {Quantisation::int8, Quantisation::nf4};

OpCase codes(const char* name, Quantisation kind, InputSpec w) {
  return {.name = cat(name, "_", name_of(kind)),
          .inputs = {w},
          .call = [=](auto in) { return parts_of(quantise(in[0], kind)); },
          .reference = kind == Quantisation::int8 ? int8_reference : nf4_reference,
          .tolerance = 4,  // scales of scales are differences of numbers that are nearly equal
          .differentiable = false,
          // In f64 too it is read as f32, where a few codes are others.
          .dtypes = {DType::f32, DType::bf16, DType::f16}};
}

// Any bytes are the codes of some weight.
OpCase values(const char* name, Quantisation kind, Shape shape) {
  const Metas metas = part_metas(kind, shape, Device::cpu);
  std::vector<InputSpec> parts;
  for (const Meta& meta : metas) parts.push_back(index(meta.shape, 256));
  return {.name = cat(name, "_", name_of(kind)),
          .inputs = parts,
          .call =
              [=](auto in) {
                Quantised w{.kind = kind, .shape = shape, .codes = cast(in[0], DType::u8)};
                w.scales = cast(in[1], metas[1].dtype);
                if (kind == Quantisation::nf4) {
                  w.block_scales = cast(in[2], DType::f32);
                  w.offset = cast(in[3], DType::f32);
                }
                return std::vector{dequantise(w), dequantise(w, DType::bf16)};
              },
          .reference =
              [=](const std::vector<Array>& in) {
                Array w(shape);
                for (int64_t i = 0; i < count(shape); ++i) {
                  if (kind == Quantisation::int8) {
                    const double code = in[0][i] < 128 ? in[0][i] : in[0][i] - 256;
                    w[i] = code * in[1][i / shape[1]] / 127;
                    continue;
                  }
                  const int both = static_cast<int>(in[0][i / 2]);
                  const int64_t block = i / 64;
                  const double scale = dynamic_code_value(static_cast<int>(in[1][block]), true) *
                                           in[2][block / 256] +
                                       in[3][0];
                  w[i] = nf4::value(i % 2 == 0 ? both / 16 : both % 16) * scale;
                }
                return std::vector{w, w};
              },
          .tolerance = 2e4,  // of f32: one result is bf16
          .differentiable = false,
          .dtypes = {DType::f32}};
}

}  // namespace

OpCases quantise_cases() {
  OpCases cases;
  for (const Quantisation kind : kKinds) {
    cases.good.push_back(codes("matrix", kind, real({5, 64})));
    cases.good.push_back(codes("odd", kind, real({7, 37})));
    cases.good.push_back(codes("one", kind, given({1, 1}, {-3})));
    cases.good.push_back(codes("row", kind, real({1, 129}, -0.01, 0.02)));
    cases.good.push_back(codes("zeros", kind, given({2, 3}, {0, 0, 0, 0, 0, 0})));
    cases.good.push_back(codes("zero_block", kind, [] {
      std::vector<double> w(192);
      for (size_t i = 64; i < 192; ++i) w[i] = std::cos(static_cast<double>(i));
      return given({3, 64}, w);
    }()));
    cases.good.push_back(codes("many_blocks", kind, real({130, 160})));  // two blocks of scales
    cases.good.push_back(codes("no_rows", kind, real({0, 3})));
    cases.good.push_back(codes("no_columns", kind, real({3, 0})));
    cases.good.push_back(values("values", kind, {6, 128}));
    cases.good.push_back(values("odd_values", kind, {9, 77}));
    cases.good.push_back(values("long_rows", kind, {2, 2500}));
    cases.good.push_back(values("no_values", kind, {0, 4}));
  }
  const auto weight = [] { return quantise(ones({2, 3}), Quantisation::nf4); };
  cases.bad = {
      {"vector", [] { quantise(ones({3}), Quantisation::int8); },
       "quantise: the weight is not a matrix: [3]. Give it the shape [outputs, inputs]."},
      {"integers",
       [] {
         quantise(ones({2, 3}, {.dtype = DType::i64}), Quantisation::nf4);
       },
       "quantise: a floating type is needed: got i64 [2, 3] on cpu. Cast it first."},
      {"infinite_int8",
       [] {
         quantise(Tensor::of<float>({0, 1, 2, HUGE_VALF}, {2, 2}), Quantisation::int8);
       },
       "quantise: the weight holds NaN or infinity: soon after element 2. Look for it before it "
       "is quantised."},
      {"nan_nf4",
       [] {
         quantise(Tensor::of<float>({0, NAN, 2, 3}, {2, 2}), Quantisation::nf4);
       },
       "quantise: the weight holds NaN or infinity: soon after element 0. Look for it before it "
       "is quantised."},
      {"other_shape",
       [=] {
         Quantised w = weight();
         w.shape = {3, 3};
         dequantise(w);
       },
       "dequantise: part 0 does not fit [3, 3] in nf4: got [3] for [5]. Pass what quantise() "
       "returned."},
      {"other_type",
       [=] {
         Quantised w = weight();
         w.scales = ones({1});
         dequantise(w);
       },
       "dequantise: part 1 of the weight is in f32: u8 is needed. Pass what quantise() returned."},
      {"to_integers", [=] { dequantise(weight(), DType::i32); },
       "dequantise: a floating type is needed: got i32. Cast it first."}};
  return cases;
}

}  // namespace plimsoll
