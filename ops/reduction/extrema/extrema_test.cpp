#include "ops/reduction/extrema/extrema.h"

#include "autograd/gradients.h"
#include "ops/pointwise/copy/copy.h"
#include "ops/random/full/full.h"
#include "tests/support/broadcast_reference.h"
#include "tests/support/op_case.h"

namespace plimsoll {
namespace {

std::vector<Array> both(const std::vector<Array>& in) {
  const auto map = [&](auto better) {
    return broadcast_map({in[0], in[1]}, [&](const auto& v) {
      if (std::isnan(v[0]) || std::isnan(v[1])) return kNaN;
      return better(v[0], v[1]) ? v[0] : v[1];
    });
  };
  return {map([](double a, double b) { return a > b; }),
          map([](double a, double b) { return a < b; })};
}

// Drawn values are never equal, so finite differences meet no tie.
OpCase takes(const char* name, InputSpec a, InputSpec b) {
  return {.name = name,
          .inputs = {a, b},
          .call =
              [](auto in) {
                return std::vector{maximum(in[0], in[1]), minimum(in[0], in[1])};
              },
          .reference = both};
}

OpCase takes_as(const char* name, DType dtype) {
  OpCase c = takes(name, index({3, 5}, 2), index({5}, 2));
  c.call = [dtype](auto in) {
    const Tensor a = cast(in[0], dtype), b = cast(in[1], dtype);
    return std::vector{maximum(a, b), minimum(a, b)};
  };
  c.differentiable = false;
  c.dtypes = {DType::f32};  // the inputs are integers anyway
  return c;
}

OpCase clamps(const char* name, InputSpec x, double low, double high) {
  return {.name = name,
          .inputs = {x},
          .call = [=](auto in) { return std::vector{clamp(in[0], low, high)}; },
          .reference =
              [=](const std::vector<Array>& in) {
                Array y = in[0];
                for (double& v : y.values)
                  if (!std::isnan(v)) v = std::min(std::max(v, low), high);
                return std::vector{y};
              }};
}

OpCase undifferentiated(OpCase c) {
  c.differentiable = false;
  return c;
}

std::vector<Array> arrays(const std::vector<std::vector<double>>& values) {
  std::vector<Array> result;
  for (const auto& v : values) {
    result.emplace_back(Shape{static_cast<int64_t>(v.size())});
    result.back().values = v;
  }
  return result;
}

// Ties are halved, NaN passes dy to both, and no product makes NaN of an infinite dy.
OpCase gradients_at_ties() {
  return {
      .name = "gradients_at_ties",
      .inputs = {given({5}, {1, 2, 3, kNaN, -kInf}), given({5}, {1, 3, 2, 0, -kInf}),
                 given({5}, {3, kInf, kInf, 4, 8})},
      .call =
          [](auto in) {
            const std::array leaves{in[0].detach().require_grad(), in[1].detach().require_grad()};
            auto large = gradients(maximum(leaves[0], leaves[1]), leaves, {.seed = in[2]});
            auto small = gradients(minimum(leaves[0], leaves[1]), leaves, {.seed = in[2]});
            return std::vector{large[0], large[1], small[0], small[1]};
          },
      .reference =
          [](auto) {
            return arrays({{1.5, 0, kInf, 4, 4},
                           {1.5, kInf, 0, 4, 4},
                           {1.5, kInf, 0, 4, 4},
                           {1.5, 0, kInf, 4, 4}});
          },
      .differentiable = false};
}

OpCase gradients_at_bounds() {
  return {.name = "gradients_at_bounds",
          .inputs = {given({6}, {-1, 1, -2, 2, 0, kNaN}), given({6}, {3, 4, kInf, kNaN, 5, 6})},
          .call =
              [](auto in) {
                const Tensor x = in[0].detach().require_grad();
                return gradients(clamp(x, -1, 1), std::array{x}, {.seed = in[1]});
              },
          .reference =
              [](auto) {
                return arrays({{3, 4, 0, 0, 5, 0}});
              },
          .differentiable = false};
}

}  // namespace

OpCases extrema_cases() {
  const InputSpec special = given({7}, {kNaN, 1, kNaN, kInf, -kInf, kInf, 3});
  return {.good = {takes("same", real({3, 5}), real({3, 5})),
                   takes("bias", real({2, 3, 4}), real({4})),
                   takes("outer", real({3, 1}), real({1, 4})),
                   takes("scalar_left", real({}), real({7})),
                   takes("scalars", real({}), real({})),
                   takes("empty", real({0, 3}), real({3})),
                   undifferentiated(
                       takes("special", special, given({7}, {1, kNaN, kNaN, 2, 2, -kInf, 3}))),
                   undifferentiated(takes("integers", index({4, 5}, 3), index({4, 5}, 3))),
                   takes_as("i32", DType::i32),
                   takes_as("u8", DType::u8),
                   takes_as("bool", DType::boolean),
                   gradients_at_ties(),
                   clamps("clamp", real({5, 7}, -2, 2), -0.75, 1.25),
                   clamps("clamp_below", real({9}, -2, 2), 0.25, kInf),
                   clamps("clamp_above", real({9}, -2, 2), -kInf, 0.25),
                   clamps("clamp_scalar", real({}), -0.01, 0.01),
                   clamps("clamp_empty", real({0, 2}), -1, 1),
                   clamps("clamp_crossed", real({4}, 0, 2), 1, -1),
                   undifferentiated(clamps("clamp_special", special, -2, 2)),
                   gradients_at_bounds(),
                   undifferentiated(clamps("clamp_many_pieces", real({40001}), -0.5, 0.5))},
          .bad = {{"types", [] { maximum(ones({2}), ones({2}, {.dtype = DType::i64})); },
                   "maximum: the types differ: f32 and i64. Cast one of them."},
                  {"shapes", [] { minimum(ones({2}), ones({3})); },
                   "minimum: the shapes do not broadcast: [2] and [3]. Sizes must be equal or 1, "
                   "aligned at the last axis."},
                  {"clamp_integers", [] { clamp(ones({2}, {.dtype = DType::i64}), 0, 1); },
                   "clamp: a floating type is needed: got i64 [2] on cpu. Cast it first."},
                  {"clamp_nan", [] { clamp(ones({2}), 0, kNaN); },
                   "clamp: a bound is NaN: 0 to nan. Use numbers, or infinities for no bound."}}};
}

}  // namespace plimsoll
