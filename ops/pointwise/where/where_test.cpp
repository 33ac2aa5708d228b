#include "ops/pointwise/where/where.h"

#include "autograd/gradients.h"
#include "ops/pointwise/copy/copy.h"
#include "ops/random/full/full.h"
#include "tests/support/broadcast_reference.h"
#include "tests/support/op_case.h"

namespace plimsoll {
namespace {

std::vector<Array> reference(const std::vector<Array>& in) {
  return {broadcast_map(in, [](const auto& v) { return v[0] != 0 ? v[1] : v[2]; })};
}

OpCase chooses(const char* name, InputSpec condition, InputSpec a, InputSpec b) {
  return {
      .name = name,
      .inputs = {condition, a, b},
      .call = [](auto in) { return std::vector{where(cast(in[0], DType::boolean), in[1], in[2])}; },
      .reference = reference};
}

OpCase chooses_as(const char* name, DType dtype) {
  OpCase c = chooses(name, index({3, 4}, 2), index({4}, 2), index({3, 1}, 2));
  c.call = [dtype](auto in) {
    return std::vector{where(cast(in[0], DType::boolean), cast(in[1], dtype), cast(in[2], dtype))};
  };
  c.differentiable = false;
  c.dtypes = {DType::f32};  // the inputs are integers anyway
  return c;
}

OpCase fills(const char* name, InputSpec x, InputSpec mask, double value) {
  return {.name = name,
          .inputs = {x, mask},
          .call =
              [value](auto in) {
                return std::vector{masked_fill(in[0], cast(in[1], DType::boolean), value)};
              },
          .reference =
              [value](const std::vector<Array>& in) {
                return std::vector{
                    broadcast_map(in, [&](const auto& v) { return v[1] != 0 ? value : v[0]; })};
              }};
}

// What was not chosen has a gradient of 0, even where dy is infinite.
OpCase special_gradient() {
  return {.name = "special_gradient",
          .inputs = {given_index({4}, {1, 0, 1, 0}), given({4}, {kInf, kNaN, 1, -kInf}),
                     given({4}, {kNaN, 2, kInf, 3}), given({4}, {kInf, kNaN, 1, -kInf})},
          .call =
              [](auto in) {
                const Tensor a = in[1].detach().require_grad(), b = in[2].detach().require_grad();
                const Tensor y = where(cast(in[0], DType::boolean), a, b);
                return gradients(y, std::array{a, b}, {.seed = in[3]});
              },
          .reference =
              [](auto) {
                Array da({4}), db({4});
                da.values = {kInf, 0, 1, 0};
                db.values = {0, kNaN, 0, -kInf};
                return std::vector{da, db};
              },
          .differentiable = false};
}

}  // namespace

OpCases where_cases() {
  OpCase special = chooses("special", given_index({3}, {1, 0, 1}), given({3}, {kNaN, kNaN, -0.0}),
                           given({3}, {1, kInf, kInf}));
  special.differentiable = false;
  OpCase infinite = fills("fill_infinity", real({2, 3, 4}), index({3, 4}, 2), -kInf);
  infinite.differentiable = false;
  return {
      .good = {chooses("same", index({3, 5}, 2), real({3, 5}), real({3, 5})),
               chooses("mask_rows", index({3, 1}, 2), real({3, 5}), real({3, 5})),
               chooses("outer", index({2, 1, 1}, 2), real({3, 1}), real({4})),
               chooses("scalars", given_index({}, {1}), real({}), real({})),
               chooses("scalar_left", index({7}, 2), real({}), real({7})),
               chooses("scalar_right", index({7}, 2), real({7}), real({})),
               chooses("empty", index({0, 3}, 2), real({3}), real({})),
               chooses_as("i64", DType::i64), chooses_as("u8", DType::u8),
               chooses_as("bool", DType::boolean), special, special_gradient(),
               fills("fill", real({2, 3, 4}), index({3, 4}, 2), 0.5),
               fills("fill_rows", real({3, 4}), index({3, 1}, 2), -2),
               fills("fill_empty", real({0, 4}), index({4}, 2), -2), infinite},
      .bad = {{"condition", [] { where(ones({2}), ones({2}), ones({2})); },
               "where: the condition is not of type bool: f32 [2] on cpu. Compare it first."},
              {"types",
               [] {
                 where(ones({2}, {.dtype = DType::boolean}), ones({2}),
                       ones({2}, {.dtype = DType::i32}));
               },
               "where: the types differ: f32 and i32. Cast one of them."},
              {"shapes", [] { where(ones({2}, {.dtype = DType::boolean}), ones({3}), ones({})); },
               "where: the shapes do not broadcast: [2] and [3]. Sizes must be equal or 1, "
               "aligned at the last axis."},
              {"mask", [] { masked_fill(ones({2}), ones({2}), 0); },
               "masked_fill: the mask is not of type bool: f32 [2] on cpu. Compare it first."},
              {"large_mask",
               [] {
                 masked_fill(ones({2}), ones({3, 2}, {.dtype = DType::boolean}), 0);
               },
               "masked_fill: the mask is larger than the tensor: [3, 2] for [2]. Expand the "
               "tensor first."},
              {"undefined", [] { masked_fill(Tensor(), ones({2}), 0); },
               "masked_fill: the tensor is undefined. Pass one that was computed."}}};
}

}  // namespace plimsoll
