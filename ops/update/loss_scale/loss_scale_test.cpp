#include "ops/update/loss_scale/loss_scale.h"

#include "ops/pointwise/copy/copy.h"
#include "ops/random/full/full.h"
#include "tests/support/op_case.h"

namespace plimsoll {
namespace {

OpCase finds(const char* name, std::vector<InputSpec> inputs, bool found) {
  return {.name = name,
          .inputs = std::move(inputs),
          .call = [](auto in) { return std::vector{nonfinite(in)}; },
          .reference =
              [=](const std::vector<Array>&) {
                Array y;
                y[0] = found;
                return std::vector{y};
              },
          .differentiable = false};
}

OpCase unscales(const char* name, InputSpec x, double scale) {
  return {.name = name,
          .inputs = {std::move(x)},
          .call =
              [=](auto in) {
                return std::vector{unscale(in[0], full({}, scale, {DType::f64, in[0].device()}))};
              },
          .reference =
              [=](std::vector<Array> in) {
                for (double& v : in[0].values) v /= scale;
                return in;
              },
          .differentiable = false};
}

// Inputs: scale, good steps, skip.
OpCase moves(const char* name, double scale, double good, double skip, double new_scale,
             double new_good) {
  return {.name = name,
          .inputs = {given_index({}, {good}), given_index({}, {skip})},
          .call =
              [=](auto in) {
                const Tensor s = full({}, scale, {DType::f32, in[0].device()});
                const Tensor n = clone(in[0]);
                update_loss_scale(s, n, cast(in[1], DType::boolean), {.interval = 3});
                return std::vector{s, n};
              },
          .reference =
              [=](const std::vector<Array>&) {
                std::vector<Array> y(2);
                y[0][0] = new_scale;
                y[1][0] = new_good;
                return y;
              },
          .differentiable = false};
}

void move_ones(Meta scale, Meta good, Meta skip, const LossScaleUpdate& options = {}) {
  const auto make = [](const Meta& meta) { return ones(meta.shape, {meta.dtype}); };
  update_loss_scale(make(scale), make(good), make(skip), options);
}

}  // namespace

OpCases loss_scale_cases() {
  const Meta scale{{}}, good{{}, DType::i64}, skip{{}, DType::boolean};
  return {
      .good = {finds("finite", {real({5, 7}), real({}), real({0})}, false),
               finds("none", {real({0, 3})}, false),
               finds("nan_in_eight", {given({8}, {1, 2, 3, 4, 5, 6, 7, kNaN})}, true),
               finds("nan_last", {real({3}), given({2}, {1, kNaN})}, true),
               finds("infinite", {given({3}, {0, kInf, 1}), real({4})}, true),
               finds("both_signs", {given({4}, {kInf, -kInf, kInf, -kInf})}, true),
               finds("largest", {given({2}, {65504, -65504})}, false),
               finds("many_pieces", {real({40001})}, false),
               finds("seventy", std::vector<InputSpec>(70, real({3})), false),
               unscales("unscale", real({5, 7}), 8),
               unscales("unscale_eight_columns", real({5, 8}), 8),
               unscales("unscale_scalar", real({}), 3),
               unscales("unscale_special", given({3}, {kInf, -kInf, kNaN}), 65536),
               unscales("unscale_empty", real({0, 3}), 8), moves("good", 8, 1, 0, 8, 2),
               moves("grow", 8, 2, 0, 16, 0), moves("back_off", 8, 2, 1, 4, 0),
               moves("highest", 0x1p127, 2, 0, 0x1p127, 0),
               moves("lowest", 0x1p-126, 2, 1, 0x1p-126, 0)},
      .bad = {
          {"none", [] { nonfinite({}); },
           "nonfinite: there is no tensor: 0 were given. Pass at least one."},
          {"integers",
           [] {
             nonfinite(std::array{ones({2}), ones({3}, {.dtype = DType::i64})});
           },
           "nonfinite: a floating type is needed: tensor 1 is i64 [3] on cpu. Cast it first."},
          {"unscale integers", [] { unscale(ones({2}, {.dtype = DType::i64}), ones({})); },
           "unscale: a floating type is needed: got i64 [2] on cpu. Cast it first."},
          {"unscale shape", [] { unscale(ones({2}), ones({2})); },
           "unscale: the scale must be a scalar: got f32 [2] on cpu. Use full({}, value)."},
          {"scale type",
           [=] {
             move_ones({{}, DType::f64}, good, skip);
           },
           "update_loss_scale: the scale must be f32: got f64 [] on cpu. Use full({}, 65536)."},
          {"good", [=] { move_ones(scale, scale, skip); },
           "update_loss_scale: the step count must be i64: got f32 [] on cpu. Use zeros({}, "
           "{.dtype = DType::i64})."},
          {"skip", [=] { move_ones(scale, good, good); },
           "update_loss_scale: what says to skip must be bool: got i64 [] on cpu. Use "
           "nonfinite()."},
          {"skip shape",
           [=] {
             move_ones(scale, good, {{1}, DType::boolean});
           },
           "update_loss_scale: what says to skip must be a scalar: got bool [1] on cpu. Use "
           "nonfinite()."},
          {"growth", [=] { move_ones(scale, good, skip, {.growth = 0.5}); },
           "update_loss_scale: a number is out of range: growth 0.5, backoff 0.5, interval 2000. "
           "Use 2, 0.5 and 2000 or so."},
          {"backoff", [=] { move_ones(scale, good, skip, {.backoff = 0}); },
           "update_loss_scale: a number is out of range: growth 2, backoff 0, interval 2000. Use "
           "2, 0.5 and 2000 or so."},
          {"interval", [=] { move_ones(scale, good, skip, {.interval = 0}); },
           "update_loss_scale: a number is out of range: growth 2, backoff 0.5, interval 0. Use "
           "2, 0.5 and 2000 or so."}}};
}

}  // namespace plimsoll
