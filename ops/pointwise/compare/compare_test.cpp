#include "ops/pointwise/compare/compare.h"

#include "ops/pointwise/copy/copy.h"
#include "ops/random/full/full.h"
#include "ops/shape/view/view.h"
#include "tests/support/broadcast_reference.h"
#include "tests/support/op_case.h"

namespace plimsoll {
namespace {

using Six = std::vector<Tensor>;

Six pairs(const Tensor& a, const Tensor& b) {
  return {eq(a, b), ne(a, b), lt(a, b), le(a, b), gt(a, b), ge(a, b)};
}

Six constants(const Tensor& x, double c) {
  return {eq(x, c), ne(x, c), lt(x, c), le(x, c), gt(x, c), ge(x, c)};
}

std::vector<Array> reference(const Array& a, const Array& b) {
  const auto map = [&](auto f) {
    return broadcast_map({a, b}, [&](const auto& v) { return f(v[0], v[1]) ? 1.0 : 0.0; });
  };
  return {map([](double x, double y) { return x == y; }),
          map([](double x, double y) { return x != y; }),
          map([](double x, double y) { return x < y; }),
          map([](double x, double y) { return x <= y; }),
          map([](double x, double y) { return x > y; }),
          map([](double x, double y) { return x >= y; })};
}

// Nothing is to be differentiated.
OpCase compares(const char* name, InputSpec a, InputSpec b) {
  return {.name = name,
          .inputs = {a, b},
          .call = [](auto in) { return pairs(in[0], in[1]); },
          .reference = [](const std::vector<Array>& in) { return reference(in[0], in[1]); },
          .differentiable = false};
}

OpCase compares_as(const char* name, DType dtype) {
  OpCase c = compares(name, index({3, 5}, 2), index({5}, 2));
  c.call = [dtype](auto in) { return pairs(cast(in[0], dtype), cast(in[1], dtype)); };
  c.dtypes = {DType::f32};  // the inputs are integers anyway
  return c;
}

OpCase compares_constant(const char* name, InputSpec x, double c) {
  return {.name = name,
          .inputs = {x},
          .call = [c](auto in) { return constants(in[0], c); },
          .reference =
              [c](const std::vector<Array>& in) {
                Array constant;
                constant[0] = c;
                return reference(in[0], constant);
              },
          .differentiable = false};
}

// Two bools from integers below 2.
OpCase logic(const char* name, InputSpec a, InputSpec b) {
  return {.name = name,
          .inputs = {a, b},
          .call =
              [](auto in) {
                const Tensor u = cast(in[0], DType::boolean), v = cast(in[1], DType::boolean);
                return std::vector{logical_and(u, v), logical_or(u, v), logical_xor(u, v),
                                   logical_not(u)};
              },
          .reference =
              [](const std::vector<Array>& in) {
                const auto map = [&](auto f) {
                  return broadcast_map({in[0], in[1]},
                                       [&](const auto& v) { return f(v[0] != 0, v[1] != 0); });
                };
                return std::vector{map([](bool u, bool v) { return u && v; }),
                                   map([](bool u, bool v) { return u || v; }),
                                   map([](bool u, bool v) { return u != v; }),
                                   broadcast_map({in[0]}, [](const auto& v) { return v[0] == 0; })};
              },
          .differentiable = false,
          .dtypes = {DType::f32}};
}

// 0.1 is no number of these types, but comparing with 0.1 finds what 0.1 became.
OpCase rounded_constant() {
  return {.name = "rounded_constant",
          .inputs = {given({2}, {0.1, 0.2})},
          .call = [](auto in) { return std::vector{eq(in[0], 0.1)}; },
          .reference =
              [](auto) {
                Array y({2});
                y.values = {1, 0};
                return std::vector{y};
              },
          .differentiable = false};
}

}  // namespace

OpCases compare_cases() {
  const InputSpec special = given({7}, {kNaN, kInf, -kInf, -0.0, 1, kNaN, 2});
  return {
      .good = {compares("special", special, given({7}, {kNaN, kInf, 1, 0.0, kNaN, 1, 2})),
               compares("outer", given({3, 1}, {0, 1, 2}), given({1, 4}, {2, 1, 0, -1})),
               compares("scalars", given({}, {1}), given({}, {1})),
               compares("scalar_right", given({4}, {-1, 0, 1, 2}), given({}, {1})),
               compares("empty", real({0, 3}), real({3})),
               compares("integers", index({4, 5}, 3), index({4, 5}, 3)),
               compares_as("i32", DType::i32), compares_as("u8", DType::u8),
               compares_as("bool", DType::boolean), compares_constant("constant", special, 1),
               compares_constant("infinite_constant", special, kInf),
               compares_constant("nan_constant", special, kNaN),
               compares_constant("integers_constant", index({9}, 3), 1), rounded_constant(),
               logic("logic", index({4, 5}, 2), index({4, 5}, 2)),
               logic("logic_outer", index({5, 1}, 2), index({4}, 2)),
               logic("logic_empty", index({0}, 2), index({0}, 2))},
      .bad = {{"types", [] { lt(ones({2}), ones({2}, {.dtype = DType::f64})); },
               "lt: the types differ: f32 and f64. Cast one of them."},
              {"shapes", [] { eq(ones({2}), ones({3})); },
               "eq: the shapes do not broadcast: [2] and [3]. Sizes must be equal or 1, aligned at "
               "the last axis."},
              {"fraction", [] { ge(ones({2}, {.dtype = DType::i64}), 0.5); },
               "ge: the constant is no i64: 0.5. Cast the tensor to a type that has it."},
              {"too_large", [] { ne(ones({2}, {.dtype = DType::u8}), 256); },
               "ne: the constant is no u8: 256. Cast the tensor to a type that has it."},
              {"beyond_i64", [] { lt(ones({2}, {.dtype = DType::i64}), 0x1p63); },
               "lt: the constant is no i64: 9223372036854775808. Cast the tensor to a type that "
               "has it."},
              {"undefined", [] { gt(Tensor(), 0); },
               "gt: the tensor is undefined. Pass one that was computed."},
              {"and", [] { logical_and(ones({2}), ones({2})); },
               "logical_and: a tensor of bools is needed: got f32 [2] on cpu. Compare it with 0 "
               "first."},
              {"not", [] { logical_not(ones({2})); },
               "logical_not: a tensor of bools is needed: got f32 [2] on cpu. Compare it with 0 "
               "first."}}};
}

}  // namespace plimsoll
