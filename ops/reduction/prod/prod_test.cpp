#include "ops/reduction/prod/prod.h"

#include "ops/random/full/full.h"
#include "tests/support/reduce_reference.h"

namespace plimsoll {
namespace {

OpCase products(const char* name, InputSpec x, Shape axes, Keep keep = Keep::none) {
  return {.name = name,
          .inputs = {x},
          .call = [=](auto in) { return std::vector{prod(in[0], axes, keep)}; },
          .reference =
              [=](const std::vector<Array>& in) {
                return std::vector{reduce_groups(in[0], axes, keep, [](const auto& group) {
                  double product = 1;
                  for (const double v : group) product *= v;
                  return product;
                })};
              }};
}

OpCase whole() {
  OpCase c = products("whole", real({2, 3}, 0.5, 2), {0, 1});
  c.call = [](auto in) { return std::vector{prod(in[0])}; };
  return c;
}

OpCase special() {
  OpCase c = products("special", given({4, 2}, {kInf, 0, kInf, -2, kNaN, 3, 0, 0}), {1});
  c.differentiable = false;
  return c;
}

}  // namespace

OpCases prod_cases() {
  const InputSpec zeros_in_rows = given({3, 4}, {2, 0, 3, -1, 0, 5, 0, 2, 1, -2, 3, 4});
  return {
      .good = {products("rows", real({5, 7}, 0.5, 2), {-1}),
               products("columns", real({5, 7}, 0.5, 2), {0}), whole(),
               products("signs", given({2, 3}, {-1, 2, -3, 0.5, -0.25, 4}), {1}, Keep::ones),
               products("apart", real({3, 4, 2}, 0.5, 2), {0, 2}, Keep::ones),
               products("zeros_in_rows", zeros_in_rows, {1}),
               products("zeros_in_columns", zeros_in_rows, {0}),
               products("wide_columns", real({3, 130}, 0.5, 2), {0}), special(),
               products("one_element", real({3, 1}), {1}),
               products("no_elements", real({3, 0}), {1}),
               products("no_columns", real({3, 0}), {0}), products("no_axes", real({2, 3}), {})},
      .bad = {{"integers", [] { prod(ones({2}, {.dtype = DType::i32}), {0}); },
               "prod: a floating type is needed: got i32. Cast it first."},
              {"undefined", [] { prod(Tensor()); },
               "prod: the tensor is undefined. Pass one that was computed."}}};
}

}  // namespace plimsoll
