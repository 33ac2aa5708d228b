#include "ops/attention/attention/attention.h"

#include "ops/pointwise/arithmetic/arithmetic.h"
#include "ops/pointwise/copy/copy.h"
#include "ops/random/dropout/dropout.h"
#include "ops/random/full/full.h"
#include "ops/reduction/sum/sum.h"
#include "ops/shape/view/view.h"
#include "tests/support/attention_reference.h"
#include "tests/support/op_case.h"

namespace plimsoll {
namespace {

using attention_reference::Given;

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

// Both results in one, out_ihd + log_sum_exp_hi, so that one gradient op is given both gradients.
std::vector<Tensor> joined(const AttentionResult& y) {
  const Shape column{y.out.size(0), y.out.size(1), y.out.size(2), 1};
  const Tensor by_query = reshape(transpose(y.log_sum_exp, 1, 2), column);
  return {y.out + cast(by_query, y.out.dtype())};
}

std::vector<Array> joined_arrays(const std::vector<Array>& y) {
  Array sum = y[0];
  const int64_t T = sum.size(1), H = sum.size(2), D = sum.size(3);
  for (int64_t e = 0; e < count(sum.shape); ++e) {
    const int64_t h = e / D % H, i = e / D / H % T, b = e / D / H / T;
    sum[e] += y[1][(b * H + h) * T + i];
  }
  return {sum};
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

// What a case with options is made of: the sizes of q [2, T, H, 3], k [2, S, K, 3], v [2, S, K, E],
// and a mask. Inputs: q, k, v, the mask if there is one, the dropout's key. With a mask that is
// added, both results in one: what it adds to all keys alike changes only log_sum_exp.
struct Options {
  int64_t queries = 4, keys = 5, heads = 2, kv_heads = 2, values = 3;
  AttentionAttrs attrs = {.causal = false};
  enum class Mask { none, added, boolean } kind = Mask::none;
  InputSpec mask = real({1});
};

OpCase with_options(const char* name, const Options& o) {
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

OpCase added(const char* name, Shape mask, Options o = {}) {
  o.kind = Options::Mask::added;
  o.mask = real(mask);
  return with_options(name, o);
}

OpCase boolean(const char* name, InputSpec mask, Options o = {}) {
  o.kind = Options::Mask::boolean;
  o.mask = mask;
  return with_options(name, o);
}

// Query 1 sees nothing: its row of the result is 0, and so are its gradients. Infinite numbers have
// no finite difference, so the mask is no input here.
OpCase all_hidden_by_adding() {
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
OpCase all_masked_alike() {
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
OpCase mask_alone() {
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
InputSpec third(Shape shape) {
  std::vector<double> values;
  for (int64_t e = 0; e < count(shape); ++e) values.push_back(e % 3 == 0);
  return given_index(shape, values);
}

std::vector<OpCase> option_cases() {
  const AttentionAttrs dropped{.causal = false, .dropout = 0.4, .site = 3};
  const AttentionAttrs all{.causal = true, .past = 1, .scale = 0.7, .softcap = 1.5, .dropout = 0.3};
  const AttentionAttrs distant{.causal = true, .past = 97, .softcap = 1.5, .dropout = 0.3};
  return {added("mask_of_queries_and_keys", {4, 5}),
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
          with_options("grouped", {.heads = 6, .kv_heads = 2}),
          with_options("one_head_of_keys", {.heads = 3, .kv_heads = 1, .attrs = {}}),
          with_options("grouped_blocks", {.queries = 66, .keys = 130, .kv_heads = 1, .values = 7}),
          with_options("narrow_values", {.values = 1}),
          with_options("no_values", {.values = 0}),
          with_options("softcap", {.attrs = {.causal = false, .softcap = 0.4}}),
          with_options("dropout", {.attrs = dropped}),
          with_options("dropout_blocks", {.queries = 3, .keys = 133, .attrs = dropped}),
          with_options("dropout_causal", {.attrs = {.dropout = 0.5, .site = ~uint64_t{0}}}),
          added("everything", {2, 1, 4, 5}, {.heads = 4, .values = 5, .attrs = all}),
          boolean("everything_boolean", third({4, 5}), {.heads = 4, .values = 5, .attrs = all}),
          added("everything_blocks", {34, 1}, {34, 131, 2, 1, 5, distant}),
          boolean("everything_boolean_blocks", third({34, 131}), {34, 131, 2, 1, 5, distant})};
}

}  // namespace

OpCases attention_cases() {
  const AttentionAttrs full_view{.causal = false};
  OpCases cases{
      .good = {both("causal", {2, 5, 2, 3}, 5),
               both("full", {2, 5, 2, 3}, 5, full_view),
               both("more_keys", {1, 3, 2, 4}, 7),
               both("past_keys", {1, 3, 2, 4}, 7, {.past = 4}),
               both("cross", {1, 7, 2, 4}, 3, full_view),
               both("one", {1, 1, 1, 1}, 1),
               both("scale", {1, 4, 1, 2}, 4, {.scale = 2.5}),
               both("several_blocks", {1, 131, 1, 2}, 131),
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
           "[batch, "
           "length, heads, features]."},
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
          {"softcap",
           [] {
             const Tensor x = ones({1, 2, 3, 4});
             attention(x, x, x, {.softcap = -1});
           },
           "attention: the softcap is no positive number: -1. Leave it at 0 for none."},
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
