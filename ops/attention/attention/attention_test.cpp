#include "ops/attention/attention/attention.h"

#include "ops/pointwise/arithmetic/arithmetic.h"
#include "ops/pointwise/copy/copy.h"
#include "ops/random/dropout/dropout.h"
#include "ops/random/full/full.h"
#include "ops/reduction/sum/sum.h"
#include "ops/shape/view/view.h"
#include "tests/support/attention_option_cases.h"
#include "tests/support/op_case.h"

namespace plimsoll {
namespace {

using attention_options::joined;
using attention_options::joined_arrays;
using attention_options::option_cases;

using Results = std::vector<Tensor> (*)(const AttentionResult&);
using Expected = std::vector<Array> (*)(const std::vector<Array>&);

OpCase attend(const char* name, Shape q, int64_t keys, AttentionAttrs attrs, Results results,
              Expected expected) {
  const Shape k{q[0], keys, q[2], q[3]};
  return {.name = name,
          .inputs = {real(q), real(k), real(k)},
          .call = [=](auto in) { return results(attention(in[0], in[1], in[2], attrs)); },
          .reference =
              [=](const std::vector<Array>& in) {
                return expected(attention_reference::attend({in[0], in[1], in[2]}, attrs));
              }};
}

OpCase both(const char* name, Shape q, int64_t keys, AttentionAttrs attrs = {}) {
  return attend(name, q, keys, attrs, joined, joined_arrays);
}

OpCase out_only(const char* name, Shape q, int64_t keys, AttentionAttrs attrs = {}) {
  return attend(
      name, q, keys, attrs, [](const AttentionResult& y) { return std::vector{y.out}; },
      [](const std::vector<Array>& y) { return std::vector{y[0]}; });
}

OpCase log_sum_exp_only(const char* name, Shape q, int64_t keys) {
  return attend(
      name, q, keys, {}, [](const AttentionResult& y) { return std::vector{y.log_sum_exp}; },
      [](const std::vector<Array>& y) { return std::vector{y[1]}; });
}

// Both results as they are, without gradients: a log_sum_exp of -infinity has no finite difference.
OpCase values_only(const char* name, Shape q, int64_t keys, AttentionAttrs attrs = {}) {
  OpCase c = attend(
      name, q, keys, attrs,
      [](const AttentionResult& y) {
        return std::vector{y.out, y.log_sum_exp};
      },
      [](const std::vector<Array>& y) { return y; });
  c.differentiable = false;
  return c;
}

// Scores of hundreds: what a type cannot hold of them, which depends on contraction, is an error.
OpCase large_scores() {
  OpCase c = out_only("large_scores", {1, 5, 1, 4}, 5, {.scale = 200});
  c.tolerance = 32;
  c.dtypes = {DType::f64, DType::f32};
  return c;
}

// Keys whose scores are -infinity fill the first block and more: they count for nothing.
OpCase infinite_scores() {
  OpCase c = values_only("infinite_scores", {1, 1, 1, 1}, 261, {.causal = false});
  std::vector<double> keys(261, -kInf);
  for (size_t j = 130; j < 261; j += 4) keys[j] = 0.01 * static_cast<double>(j) - 2;
  c.inputs[0] = given({1, 1, 1, 1}, {1.5});
  c.inputs[1] = given({1, 261, 1, 1}, keys);
  c.dtypes = {DType::f64, DType::f32};
  return c;
}

// q, k and v are slices of one tensor, read where they are.
OpCase slices() {
  const auto part = [](const Tensor& x, int64_t i) { return slice(x, 2, 2 * i, 2 * i + 2); };
  return {
      .name = "slices",
      .inputs = {real({2, 5, 6, 4})},
      .call =
          [part](auto in) {
            return std::vector{attention(part(in[0], 0), part(in[0], 1), part(in[0], 2)).out};
          },
      .reference =
          [](const std::vector<Array>& in) {
            std::vector<Array> parts(3, Array({2, 5, 2, 4}));
            for (int64_t e = 0; e < count(in[0].shape); ++e)
              parts[static_cast<size_t>(e / 8 % 3)][e / 24 * 8 + e % 8] = in[0][e];
            return std::vector{attention_reference::attend({parts[0], parts[1], parts[2]}, {})[0]};
          }};
}

}  // namespace

OpCases attention_cases() {
  const AttentionAttrs full_view{.causal = false};
  OpCases cases{
      .good = {both("causal", {2, 5, 2, 3}, 5),
               both("full", {2, 5, 2, 3}, 5, full_view),
               both("more_keys", {1, 3, 2, 4}, 7),
               both("past_keys", {1, 3, 2, 4}, 7, {.past = 4}),
               both("one_query", {2, 1, 2, 3}, 5, {.past = 3}),
               both("one_query_of_all", {2, 1, 2, 3}, 5, full_view),
               both("one_query_key_blocks", {1, 1, 2, 19}, 300, {.past = 270}),
               both("one_query_strong", {1, 1, 1, 3}, 140, {.past = 139, .scale = 25}),
               values_only("one_query_sees_nothing", {2, 1, 2, 3}, 5, {.past = -1}),
               both("cross", {1, 7, 2, 4}, 3, full_view),
               both("one", {1, 1, 1, 1}, 1),
               both("scale", {1, 4, 1, 2}, 4, {.scale = 2.5}),
               both("several_blocks", {1, 131, 1, 2}, 131),
               both("wide_heads", {1, 34, 1, 64}, 36),  // tiles of bfloat16 read where they lie
               both("one_query_wide_head", {1, 1, 1, 64}, 40, {.past = 39}),
               both("several_key_blocks", {1, 3, 1, 2}, 259),
               both("several_blocks_full", {1, 66, 1, 2}, 130, full_view),
               both("fewer_keys", {1, 6, 2, 3}, 4),
               out_only("nothing_seen", {1, 6, 2, 3}, 4, {.past = -2}),
               slices(),
               large_scores(),
               infinite_scores(),
               out_only("query_block_sees_nothing", {1, 70, 1, 2}, 3, {.past = -67}),
               values_only("masked_values", {1, 6, 2, 3}, 4, {.past = -2}),
               values_only("no_keys", {2, 3, 1, 2}, 0, full_view),
               log_sum_exp_only("log_sum_exp", {2, 4, 2, 3}, 5),
               out_only("no_queries", {1, 0, 2, 3}, 4),
               out_only("no_batch", {0, 3, 2, 3}, 3)},
      .bad = {
          {"vanishing scale",
           [] {
             const Tensor x = ones({1, 2, 3, 4});
             attention(x, x, x, {.scale = 1e-50});
           },
           "attention: the scale is no positive number: 1e-50. Leave it at 0 for 1 / sqrt(D)."},
          {"sizes",
           [] {
             attention(ones({1, 2, 3, 4}), ones({1, 2, 3, 5}), ones({1, 2, 3, 5}));
           },
           "attention: the sizes differ: q [1, 2, 3, 4], k [1, 2, 3, 5] and v [1, 2, 3, 5]. k "
           "needs the batch and the features of q, v the batch, length and heads of k."},
          {"values",
           [] {
             attention(ones({1, 2, 3, 4}), ones({1, 2, 3, 4}), ones({1, 3, 3, 4}));
           },
           "attention: the sizes differ: q [1, 2, 3, 4], k [1, 2, 3, 4] and v [1, 3, 3, 4]. k "
           "needs the batch and the features of q, v the batch, length and heads of k."},
          {"rank",
           [] {
             attention(ones({2, 3, 4}), ones({2, 3, 4}), ones({2, 3, 4}));
           },
           "attention: four axes are needed: q [2, 3, 4], k [2, 3, 4] and v [2, 3, 4]. Reshape to "
           "[batch, length, heads, features]."},
          {"past",
           [] {
             const Tensor x = ones({1, 2, 3, 4});
             attention(x, x, x, {}, {.past = ones({2}, {.dtype = DType::i64})});
           },
           "attention: the past is not one number of i64: got i64 [2] on cpu. Give the number of "
           "keys before the first query."},
          {"features",
           [] {
             attention(ones({1, 2, 3, 0}), ones({1, 2, 3, 0}), ones({1, 2, 3, 0}));
           },
           "attention: the heads have no features: q [1, 2, 3, 0]. Give the last axis at least "
           "one."},
          {"types",
           [] {
             const Tensor x = ones({1, 2, 3, 4});
             attention(x, x, ones({1, 2, 3, 4}, {.dtype = DType::bf16}));
           },
           "attention: q, k and v of one floating type are needed: got f32, f32 and bf16. Cast "
           "them."},
          {"scale",
           [] {
             const Tensor x = ones({1, 2, 3, 4});
             attention(x, x, x, {.scale = -1});
           },
           "attention: the scale is no positive number: -1. Leave it at 0 for 1 / sqrt(D)."},
          {"infinite_softcap",
           [] {
             const Tensor x = ones({1, 2, 3, 4});
             attention(x, x, x, {.softcap = 1e60});
           },
           "attention: the softcap is no positive number: 1e+60. Leave it at 0 for none."},
          {"vanishing_softcap",
           [] {
             const Tensor x = ones({1, 2, 1, 4});
             attention(x, x, x, {.softcap = 1e-46});
           },
           "attention: the softcap is no positive number: 1e-46. Leave it at 0 for none."},
          {"softcap_far_below_scale",
           [] {
             const Tensor x = ones({1, 2, 1, 4});
             attention(x, x, x, {.softcap = 1e-39});
           },
           "attention: the scale by the softcap is no positive number: 0.5 / 1e-39. Leave the "
           "softcap at 0 for none."},
          {"softcap",
           [] {
             const Tensor x = ones({1, 2, 3, 4});
             attention(x, x, x, {.softcap = -1});
           },
           "attention: the softcap is no positive number: -1. Leave it at 0 for none."},
          {"window",
           [] {
             const Tensor x = ones({1, 2, 3, 4});
             attention(x, x, x, {.window = -1});
           },
           "attention: the window is out of range: -1. Use 1 key or more, or 0 for all."},
          {"window_of_both_sides",
           [] {
             const Tensor x = ones({1, 2, 3, 4});
             attention(x, x, x, {.causal = false, .window = 2});
           },
           "attention: a window is of causal attention: 2 keys. Leave it at 0, or use causal."},
          {"dropout",
           [] {
             const Tensor x = ones({1, 2, 3, 4});
             attention(x, x, x, {.dropout = 1}, {.key = make_key(1, 1)});
           },
           "attention: the share to drop is out of range: 1. Use 0 <= p < 1."},
          {"no_key",
           [] {
             const Tensor x = ones({1, 2, 3, 4});
             attention(x, x, x, {.dropout = 0.5});
           },
           "attention: dropout needs a key. Pass one from make_key()."},
          {"key",
           [] {
             const Tensor x = ones({1, 2, 3, 4});
             attention(x, x, x, {.dropout = 0.5}, {.key = x});
           },
           "attention: the key must be i64 [2]: got f32 [1, 2, 3, 4] on cpu. Use make_key()."},
          {"groups",
           [] {
             const Tensor x = ones({1, 2, 2, 4});
             attention(ones({1, 2, 3, 4}), x, x);
           },
           "attention: 2 heads of keys do not divide 3 heads of queries: q [1, 2, 3, 4] and k [1, "
           "2, 2, 4]. Give one head of keys for each group of queries."},
          {"mask_type",
           [] {
             const Tensor x = ones({1, 2, 3, 4});
             attention(x, x, x, {}, {.mask = ones({2, 2}, {.dtype = DType::f64})});
           },
           "attention: the mask is neither bool nor of q's type: got f64 for f32. Cast it."},
          {"mask_shape",
           [] {
             const Tensor x = ones({1, 2, 3, 4});
             attention(x, x, x, {}, {.mask = ones({2, 3})});
           },
           "attention: the mask does not fit: [1, 1, 2, 3] for scores [1, 3, 2, 2]. Give each axis "
           "its size or 1."},
          {"mask_axes",
           [] {
             const Tensor x = ones({1, 2, 3, 4});
             attention(x, x, x, {}, {.mask = ones({1, 1, 1, 1, 1})});
           },
           "attention: the mask has more than four axes: [1, 1, 1, 1, 1]. Give what broadcasts to "
           "[batch, heads, queries, keys]."}}};
  std::ranges::move(option_cases(), std::back_inserter(cases.good));
  return cases;
}

}  // namespace plimsoll
