// Cases of attention with options: masks, groups of heads, softcap, dropout, a past that is a
// tensor.
//
//   std::ranges::move(attention_cases::option_cases(), std::back_inserter(cases.good));
#pragma once

#include <algorithm>

#include "ops/attention/attention/attention.h"
#include "ops/pointwise/arithmetic/arithmetic.h"
#include "ops/pointwise/copy/copy.h"
#include "ops/random/full/full.h"
#include "ops/reduction/sum/sum.h"
#include "ops/shape/view/view.h"
#include "tests/support/attention_reference.h"
#include "tests/support/op_case.h"

namespace plimsoll::attention_options {

using attention_reference::Given;

// Both results in one, out_ihd + log_sum_exp_hi, so that one gradient op is given both gradients.
inline std::vector<Tensor> joined(const AttentionResult& y) {
  const Shape column{y.out.size(0), y.out.size(1), y.out.size(2), 1};
  const Tensor by_query = reshape(transpose(y.log_sum_exp, 1, 2), column);
  return {y.out + cast(by_query, y.out.dtype())};
}

inline std::vector<Array> joined_arrays(const std::vector<Array>& y) {
  Array sum = y[0];
  const int64_t T = sum.size(1), H = sum.size(2), D = sum.size(3);
  for (int64_t e = 0; e < count(sum.shape); ++e) {
    const int64_t h = e / D % H, i = e / D / H % T, b = e / D / H / T;
    sum[e] += y[1][(b * H + h) * T + i];
  }
  return {sum};
}

// What a case with options is made of: the sizes of q [2, T, H, 3], k [2, S, K, 3], v [2, S, K, E],
// and a mask. Inputs: q, k, v, the mask if there is one, the dropout's key. With a mask that is
// added, both results in one: what it adds to all keys alike changes only log_sum_exp.
struct Options {
  int64_t queries = 4, keys = 5, heads = 2, kv_heads = 2, values = 3;
  AttentionAttrs attrs = {.causal = false};
  enum class Mask { none, added, boolean } kind = Mask::none;
  InputSpec mask = real({1});
};

inline OpCase with_options(const char* name, const Options& o) {
  using enum Options::Mask;
  OpCase c{.name = name,
           .inputs = {real({2, o.queries, o.heads, 3}), real({2, o.keys, o.kv_heads, 3}),
                      real({2, o.keys, o.kv_heads, o.values})},
           .call = {},
           .reference = {}};
  if (o.kind != none) c.inputs.push_back(o.mask);
  c.inputs.push_back(given_index({2}, {42, 7}));
  c.call = [=](auto in) {
    AttentionExtras extras{.key = in.back()};
    if (o.kind == added) extras.mask = in[3];
    if (o.kind == boolean) extras.mask = cast(in[3], DType::boolean);
    const AttentionResult y = attention(in[0], in[1], in[2], o.attrs, extras);
    return o.kind == added ? joined(y) : std::vector{y.out};
  };
  c.reference = [=](const std::vector<Array>& in) {
    Given all{in[0], in[1], in[2]};
    if (o.kind != none) all.mask = in[3];
    if (o.kind == boolean)
      for (double& m : all.mask.values) m = m != 0 ? 0 : -kInf;
    all.key = in.back().values;
    const std::vector<Array> y = attention_reference::attend(all, o.attrs);
    return o.kind == added ? joined_arrays(y) : std::vector{y[0]};
  };
  return c;
}

inline OpCase added(const char* name, Shape mask, Options o = {}) {
  o.kind = Options::Mask::added;
  o.mask = real(mask);
  return with_options(name, o);
}

inline OpCase boolean(const char* name, InputSpec mask, Options o = {}) {
  o.kind = Options::Mask::boolean;
  o.mask = mask;
  return with_options(name, o);
}

// Query 1 sees nothing: its row of the result is 0, and so are its gradients. Infinite numbers have
// no finite difference, so the mask is no input here.
inline OpCase all_hidden_by_adding() {
  OpCase c = with_options("all_hidden_by_adding", {.queries = 2, .keys = 3});
  const std::vector<double> mask{0, -kInf, 0.5, -kInf, -kInf, -kInf};
  c.call = [mask](auto in) {
    const Tensor m = cast(Tensor::of<double>(std::span<const double>(mask), {2, 3}, in[0].device()),
                          in[0].dtype());
    return std::vector{attention(in[0], in[1], in[2], {.causal = false}, {.mask = m}).out};
  };
  c.reference = [mask](const std::vector<Array>& in) {
    Given all{in[0], in[1], in[2], Array({2, 3})};
    all.mask.values = mask;
    return std::vector{attention_reference::attend(all, {.causal = false})[0]};
  };
  return c;
}

// A finite mask of all keys: they count alike. Beside it no digit of log(5) would be left.
inline OpCase all_masked_alike() {
  return {.name = "all_masked_alike",
          .inputs = {real({2, 5, 2, 3})},
          .call =
              [](auto in) {
                const Tensor zero = in[0].detach() * 0, mask = mean(zero) - 3e38;
                return std::vector{attention(zero, zero, in[0], {.causal = false}, {mask}).out};
              },
          .reference =
              [](const std::vector<Array>& in) {
                Array mean(in[0].shape);
                for (int64_t e = 0; e < count(mean.shape); ++e)
                  for (int64_t j = 0; j < 5; ++j) mean[e] += in[0][e / 30 * 30 + j * 6 + e % 6] / 5;
                return std::vector{mean};
              },
          .dtypes = {DType::f64, DType::f32, DType::bf16}};
}

// A mask that needs a gradient beside q, k and v that do not.
inline OpCase mask_alone() {
  OpCase c = added("mask_alone", {2, 5});
  c.inputs = {real({2, 5})};
  const auto fixed = [](double from) {
    Array x({1, 5, 1, 2});
    for (int64_t e = 0; e < 10; ++e) x[e] = from + 0.1 * static_cast<double>(e * e % 7);
    return x;
  };
  c.call = [fixed](auto in) {
    const auto tensor = [&](double from) {
      const Array x = fixed(from);
      return cast(Tensor::of<double>(std::span<const double>(x.values), x.shape, in[0].device()),
                  in[0].dtype());
    };
    const Tensor q = slice(tensor(-1), 1, 0, 2);
    return joined(attention(q, tensor(0), tensor(0.5), {.causal = false}, {.mask = in[0]}));
  };
  c.reference = [fixed](const std::vector<Array>& in) {
    Array q = fixed(-1);
    q.shape = {1, 2, 1, 2};
    q.values.resize(4);
    return joined_arrays(
        attention_reference::attend({q, fixed(0), fixed(0.5), in[0]}, {.causal = false}));
  };
  c.tolerance = 2;  // in 16 bits q, k and v are rounded, and the reference's are not
  return c;
}

// More keys than a block, two of three hidden, so that whole rows of a block may be.
inline InputSpec third(Shape shape) {
  std::vector<double> values;
  for (int64_t e = 0; e < count(shape); ++e) values.push_back(e % 3 == 0);
  return given_index(shape, values);
}

// The past as a tensor, in place of what the attributes say.
inline OpCase past(const char* name, Options o, int64_t keys) {
  OpCase c = with_options(name, o);
  c.call = [=](auto in) {
    const Tensor there = full({1}, static_cast<double>(keys), {DType::i64, in[0].device()});
    return joined(attention(in[0], in[1], in[2], o.attrs, {.key = in.back(), .past = there}));
  };
  c.reference = [=](const std::vector<Array>& in) {
    AttentionAttrs attrs = o.attrs;
    attrs.past = keys;
    return joined_arrays(attention_reference::attend(
        {in[0], in[1], in[2], Array({1, 1, 1, 1}), in.back().values}, attrs));
  };
  return c;
}

// What lies in a cache behind the last key that is seen is not read.
inline OpCase past_of_a_cache(const char* name, int64_t queries) {
  OpCase c = past(name, {.queries = queries, .keys = 9, .attrs = {.past = 1}}, 3);
  for (size_t i = 1; i < 3; ++i) {
    std::vector<double> rows;
    for (int64_t e = 0; e < 2 * 9 * 2 * 3; ++e)
      rows.push_back(e / 6 % 9 < 3 + queries ? 0.01 * static_cast<double>(e * e % 97) : kNaN);
    c.inputs[i] = given({2, 9, 2, 3}, rows);
  }
  c.reference = [seen = 3 + queries, whole = c.reference](std::vector<Array> in) {
    for (Array* x : {&in[1], &in[2]})
      for (int64_t e = 0; e < count(x->shape); ++e)
        if (e / 6 % 9 >= seen) (*x)[e] = 0;
    return whole(in);
  };
  c.differentiable = false;
  return c;
}

// No query sees a key: numbers that are not finite have no finite difference.
inline OpCase window_behind_all_keys() {
  OpCase c = past("window_behind_all_keys", {.queries = 3, .attrs = {.window = 2}}, 1000);
  c.differentiable = false;
  return c;
}

// Sequences of these lengths in a row of batch 0, and of the same in turn in one of batch 1.
inline OpCase segmented(const char* name, std::vector<int64_t> lengths, Options o) {
  std::vector<double> ids;
  for (int batch = 0; batch < 2; ++batch) {
    for (size_t s = 0; s < lengths.size(); ++s)
      ids.insert(ids.end(), static_cast<size_t>(lengths[s]), static_cast<double>(5 * s + 3));
    std::reverse(lengths.begin(), lengths.end());
  }
  const auto n = static_cast<int64_t>(ids.size()) / 2;
  o.queries = o.keys = n;
  OpCase c = with_options(name, o);
  c.call = [=](auto in) {
    const Tensor given = Tensor::of<double>(std::span<const double>(ids), {2, n}, in[0].device());
    return joined(attention(in[0], in[1], in[2], o.attrs,
                            {.key = in.back(), .segments = cast(given, DType::i64)}));
  };
  c.reference = [=](const std::vector<Array>& in) {
    Array mask({2, 1, n, n});
    for (int64_t b = 0; b < 2; ++b)
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j) {
          const bool same = ids[size_t(b * n + i)] == ids[size_t(b * n + j)];
          mask[(b * n + i) * n + j] = same ? 0 : -kInf;
        }
    return joined_arrays(
        attention_reference::attend({in[0], in[1], in[2], mask, in.back().values}, o.attrs));
  };
  return c;
}

inline std::vector<OpCase> option_cases() {
  const AttentionAttrs dropped{.causal = false, .dropout = 0.4, .site = 3};
  const AttentionAttrs all{.causal = true, .past = 1, .scale = 0.7, .softcap = 1.5, .dropout = 0.3};
  const AttentionAttrs distant{.causal = true, .past = 97, .softcap = 1.5, .dropout = 0.3};
  const AttentionAttrs everything_in_window{
      .past = 2, .window = 3, .scale = 0.7, .softcap = 1.5, .dropout = 0.3};
  return {segmented("segments", {3, 1, 2}, {}),
          segmented("segments_causal", {4, 1, 3}, {.attrs = {}}),
          segmented("segments_dropped", {4, 2}, {.attrs = dropped}),
          segmented("segments_capped", {5, 4}, {.kv_heads = 1, .attrs = {.softcap = 1.5}}),
          segmented("segments_across_blocks", {70, 150, 33, 7}, {.attrs = {}}),
          segmented("segments_across_blocks_both_ways", {130, 3, 140}, {}),
          segmented("segments_in_a_window", {70, 150, 33, 7}, {.attrs = {.window = 40}}),
          added("mask_of_queries_and_keys", {4, 5}),
          added("mask_whole", {2, 2, 4, 5}),
          added("mask_of_keys", {5}),
          added("mask_of_batch_and_keys", {2, 1, 1, 5}),
          added("mask_of_heads_and_queries", {2, 4, 1}),
          added("mask_scalar", {}),
          added("mask_causal", {4, 5}, {.attrs = {}}),
          added("mask_blocks", {70, 3}, {.queries = 70, .keys = 3, .heads = 1, .kv_heads = 1}),
          added("mask_key_blocks", {2, 1}, {.queries = 2, .keys = 130, .heads = 1, .kv_heads = 1}),
          added("mask_no_queries", {1, 5}, {.queries = 0}),
          boolean("boolean", given_index({4, 5}, {1, 0, 1, 0, 0, 1, 1, 1, 1, 1,  //
                                                  0, 0, 0, 0, 1, 0, 0, 1, 1, 0})),
          boolean("all_hidden", given_index({2, 1, 1, 5}, {1, 0, 1, 0, 0, 0, 0, 0, 0, 0})),
          boolean("boolean_blocks", third({3, 131}), {.queries = 3, .keys = 131}),
          all_hidden_by_adding(),
          all_masked_alike(),
          mask_alone(),
          past("past_tensor", {.attrs = {}}, 2),
          past("past_tensor_of_one", {.queries = 1, .keys = 140, .heads = 4, .attrs = {}}, 132),
          past("past_tensor_beyond", {.attrs = {}}, 1000),
          past("past_tensor_blocks", {.queries = 70, .keys = 140, .attrs = {}}, 65),
          past("past_tensor_dropout", {.attrs = {.softcap = 1.5, .dropout = 0.4, .site = 3}}, 1),
          past_of_a_cache("past_of_a_cache", 3),
          past_of_a_cache("past_of_a_cache_one", 1),
          with_options("one_query_grouped", {.queries = 1, .heads = 4}),
          with_options("grouped", {.heads = 6, .kv_heads = 2}),
          with_options("one_head_of_keys", {.heads = 3, .kv_heads = 1, .attrs = {}}),
          with_options("grouped_blocks", {.queries = 66, .keys = 130, .kv_heads = 1, .values = 7}),
          with_options("narrow_values", {.values = 1}),
          with_options("no_values", {.values = 0}),
          with_options("window", {.attrs = {.window = 2}}),
          with_options("window_of_one", {.attrs = {.past = 1, .window = 1}}),
          with_options("window_of_all", {.attrs = {.past = 1, .window = 100}}),
          with_options("window_blocks", {140, 300, 4, 2, 3, {.past = 150, .window = 130}}),
          with_options("window_leaves_blocks", {70, 420, 1, 1, 3, {.past = 350, .window = 3}}),
          with_options("window_of_one_query", {1, 300, 4, 2, 3, {.past = 290, .window = 140}}),
          added("window_everything", {4, 5}, {.heads = 4, .attrs = everything_in_window}),
          past("window_past_tensor", {.queries = 3, .keys = 9, .attrs = {.window = 2}}, 5),
          past("window_past_tensor_of_one", {1, 140, 2, 2, 3, {.window = 5}}, 132),
          window_behind_all_keys(),
          with_options("softcap", {.attrs = {.causal = false, .softcap = 0.4}}),
          with_options("dropout", {.attrs = dropped}),
          with_options("dropout_blocks", {.queries = 3, .keys = 133, .attrs = dropped}),
          with_options("dropout_causal", {.attrs = {.dropout = 0.5, .site = ~uint64_t{0}}}),
          added("everything", {2, 1, 4, 5}, {.heads = 4, .values = 5, .attrs = all}),
          boolean("everything_boolean", third({4, 5}), {.heads = 4, .values = 5, .attrs = all}),
          added("everything_blocks", {34, 1}, {34, 131, 2, 1, 5, distant}),
          boolean("everything_boolean_blocks", third({34, 131}), {34, 131, 2, 1, 5, distant})};
}

}  // namespace plimsoll::attention_options
