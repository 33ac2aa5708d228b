#include "ops/quantise/quantised_linear/quantised_linear.h"

#include "ops/pointwise/arithmetic/arithmetic.h"
#include "ops/pointwise/copy/copy.h"
#include "ops/quantise/common/format.h"
#include "ops/random/full/full.h"
#include "tests/support/op_case.h"

namespace plimsoll {
namespace {

// Of any bytes and small scales: a weight that no real number has to be rounded to.
Quantised weight_of(std::span<const Tensor> parts, Quantisation kind, const Shape& shape) {
  Quantised w{.kind = kind, .shape = shape, .codes = cast(parts[0], DType::u8)};
  const auto small = [](const Tensor& x) { return cast(x, DType::f32) * 0.01; };
  if (kind == Quantisation::int8) {
    w.scales = small(parts[1]);
    return w;
  }
  w.scales = cast(parts[1], DType::u8);
  w.block_scales = small(parts[2]);
  w.offset = small(parts[3]);
  return w;
}

OpCase product(const char* name, Quantisation kind, Shape x, int64_t outputs) {
  const Shape shape{outputs, x.back()};
  std::vector<InputSpec> inputs{real(x)};
  for (const Meta& meta : part_metas(kind, shape, Device::cpu))
    inputs.push_back(index(meta.shape, 256));
  return {
      .name = cat(name, "_", name_of(kind)),
      .inputs = inputs,
      .call =
          [=](auto in) {
            const std::span<const Tensor> all(in);
            return std::vector{quantised_linear(all[0], weight_of(all.subspan(1), kind, shape))};
          },
      .reference =
          [=](const std::vector<Array>& in) {
            std::vector<Tensor> parts;
            for (size_t i = 1; i < in.size(); ++i)
              parts.push_back(Tensor::of(std::span<const double>(in[i].values), in[i].shape));
            const Array w = to_array(dequantise(weight_of(parts, kind, shape)));
            Shape out = x;
            out[x.rank() - 1] = outputs;
            Array y(out);
            for (int64_t e = 0; e < count(out); ++e)
              for (int64_t i = 0; i < shape[1]; ++i)
                y[e] += in[0][e / outputs * shape[1] + i] * w[e % outputs * shape[1] + i];
            return std::vector{y};
          }};
}

Quantised ones_in(Quantisation kind) { return quantise(ones({2, 3}), kind); }

}  // namespace

OpCases quantised_linear_cases() {
  OpCases cases;
  for (const Quantisation kind : {Quantisation::int8, Quantisation::nf4}) {
    cases.good.push_back(product("rows", kind, {5, 64}, 3));
    cases.good.push_back(product("odd", kind, {3, 37}, 9));
    cases.good.push_back(product("three_axes", kind, {2, 3, 20}, 70));
    cases.good.push_back(product("vector", kind, {130}, 5));
    cases.good.push_back(product("one", kind, {1, 1}, 1));
    cases.good.push_back(product("no_rows", kind, {0, 3}, 2));
    cases.good.push_back(product("no_inputs", kind, {2, 0}, 3));
    cases.good.push_back(product("no_outputs", kind, {2, 3}, 0));
    cases.good.push_back(product("many_columns", kind, {2, 600}, 520));
  }
  cases.bad = {
      {"inner",
       [] {
         quantised_linear(ones({2, 4}), ones_in(Quantisation::int8));
       },
       "quantised_linear: the inner sizes differ: x [2, 4] and w [2, 3]. The last axis of x must "
       "equal the last axis of w."},
      {"scalar", [] { quantised_linear(ones({}), ones_in(Quantisation::nf4)); },
       "quantised_linear: the inner sizes differ: x [] and w [2, 3]. The last axis of x must equal "
       "the last axis of w."},
      {"integers",
       [] {
         quantised_linear(ones({2, 3}, {.dtype = DType::i32}), ones_in(Quantisation::nf4));
       },
       "quantised_linear: a floating type is needed: got i32 [2, 3] on cpu. Cast it first."},
      {"parts",
       [] {
         Quantised w = ones_in(Quantisation::int8);
         w.scales = ones({3});
         quantised_linear(ones({2, 3}), w);
       },
       "quantised_linear: part 1 does not fit [2, 3] in int8: got [3] for [2]. Pass what "
       "quantise() returned."}};
  return cases;
}

}  // namespace plimsoll
