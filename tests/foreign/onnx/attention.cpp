// Attention with a cache of past keys, and rotary embedding. Heads come second in ONNX's
// [B, H, T, D] and third in the engine's [B, T, H, D]; [B, T, H D] has them third too.
#include <cmath>
#include <limits>

#include "tests/foreign/onnx/cases.h"

namespace plimsoll::onnx {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

Tensor swap_heads(const Tensor& x) { return permute(x, {0, 2, 1, 3}); }

// [B, T, H, D] of either layout.
Tensor with_heads(const Tensor& x, int64_t heads) {
  if (x.rank() == 4) return swap_heads(x);
  check<Unsupported>(heads > 0, "three axes without a number of heads");
  return reshape(x, {x.size(0), x.size(1), heads, x.size(2) / heads});
}

// The cache [B, H, P, D] before x [B, T, H, D].
Tensor after_past(const Tensor& past, const Tensor& x) {
  return past.defined() ? concat(std::array{swap_heads(past), x}, 1) : x;
}

Tensor counting(int64_t n, const Shape& shape) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < n; ++i) values.push_back(i);
  return Tensor::of(std::span<const int64_t>(values), shape);
}

Tensor whole(int64_t n) { return Tensor::of<int64_t>({n}, {}); }

// 0 where the mask is true, -infinity elsewhere.
Tensor additive(const Tensor& mask, DType dtype) {
  if (mask.dtype() != DType::boolean) return cast(mask, dtype);
  return masked_fill(zeros(mask.shape(), {.dtype = dtype}), logical_not(mask), -kInf);
}

// A mask for S keys, false or -infinity for those it does not reach.
Tensor padded_to(const Tensor& mask, int64_t keys) {
  const int64_t missing = keys - mask.size(-1);
  if (missing <= 0) return mask;
  PadAmounts amounts(static_cast<size_t>(mask.rank()));
  amounts.back().second = missing;
  return pad(mask, amounts, PadMode::constant, mask.dtype() == DType::boolean ? 0 : -kInf);
}

// bool [B, 1, 1 or T, S]: the first lengths[b] keys are there, and of them query i sees, when it is
// causal, those up to the last T - 1 - i.
Tensor within_lengths(const Tensor& lengths, int64_t queries, int64_t keys, bool causal) {
  const Tensor key = counting(keys, {keys});
  const Tensor length = reshape(cast(lengths, DType::i64), {-1, 1, 1, 1});
  const Tensor there = lt(key, length);
  if (!causal) return there;
  const Tensor past = length - full({}, static_cast<double>(queries), {.dtype = DType::i64});
  return logical_and(there, le(key, past + counting(queries, {queries, 1})));
}

// bool [T, S], or [B, 1, T, S] for queries that start at another place in each batch: keys that are
// at most so far before the query's place, and at most so far behind it; -1 is any distance.
Tensor within_window(const Tensor& first, int64_t queries, int64_t keys, int64_t left,
                     int64_t right) {
  const Tensor place = first + counting(queries, {queries, 1}), key = counting(keys, {keys});
  const Tensor back = place - key;
  Tensor seen = ones(back.shape(), {.dtype = DType::boolean});
  if (left >= 0) seen = logical_and(seen, le(back, whole(left)));
  if (right >= 0) seen = logical_and(seen, ge(back, whole(-right)));
  return seen;
}

// bool [T, S]: keys up to i + past.
Tensor causal_mask(int64_t queries, int64_t keys, int64_t past) {
  return tril(ones({queries, keys}, {.dtype = DType::boolean}), past);
}

// The matrix [B, H, T, S] at one stage: 0 products, 1 capped, 2 with the mask, 3 probabilities.
Tensor scores(const Tensor& q, const Tensor& k, const Tensor& mask, const AttentionAttrs& attrs,
              const Tensor& log_sum_exp, int64_t stage) {
  const int64_t batch = q.size(0), heads = q.size(2), groups = k.size(2);
  Tensor keys = reshape(permute(k, {0, 2, 3, 1}), {batch, groups, 1, k.size(3), k.size(1)});
  keys = reshape(expand(keys, {batch, groups, heads / groups, k.size(3), k.size(1)}),
                 {batch, heads, k.size(3), k.size(1)});
  Tensor s = matmul(swap_heads(q), keys) * attrs.scale;
  if (stage == 0) return s;
  if (attrs.softcap > 0) s = tanh(s / attrs.softcap) * attrs.softcap;
  if (stage == 1) return s;
  if (mask.defined()) s = s + additive(mask, s.dtype());
  if (attrs.causal) s = s + additive(causal_mask(q.size(1), k.size(1), attrs.past), s.dtype());
  if (stage == 2) return s;
  const Tensor lse = reshape(log_sum_exp, {batch, heads, q.size(1), 1});
  const Tensor p = exp(cast(s, lse.dtype()) - lse);
  return cast(masked_fill(p, eq(s, -kInf), 0), s.dtype());  // a row that sees nothing is all 0
}

std::vector<Tensor> attend(const OpCall& c) {
  const Tensor q = with_heads(c[0], c.node.integer("q_num_heads", 0));
  const int64_t key_heads = c.node.integer("kv_num_heads", 0);
  const Tensor k = after_past(c[4], with_heads(c[1], key_heads));
  const Tensor v = after_past(c[5], with_heads(c[2], key_heads));
  const int64_t queries = q.size(1), keys = k.size(1);
  c.node.integer("softmax_precision", 0);  // at least f32 here
  AttentionAttrs attrs{.causal = c.node.flag("is_causal"),
                       .past = c.has(4) ? c[4].size(2) : 0,
                       .scale = c.node.real("scale", 1 / std::sqrt(static_cast<double>(q.size(3)))),
                       .softcap = c.node.real("softcap", 0)};
  Tensor mask = c.has(3) ? padded_to(c[3], keys) : Tensor();
  if (mask.defined() && mask.dtype() != DType::boolean) mask = cast(mask, q.dtype());
  if (c.has(6)) {  // a cache that is longer than what it holds: no causal line of the engine's
    const bool causal = attrs.causal && !c.has(4);
    const Tensor there = within_lengths(c[6], queries, keys, causal);
    attrs.causal = attrs.causal && c.has(4);
    mask = mask.defined() ? additive(mask, q.dtype()) + additive(there, q.dtype()) : there;
  }
  const int64_t left = c.node.integer("left_window_size", -1);
  const int64_t right = c.node.integer("right_window_size", -1);
  if (left >= 0 || right >= 0) {  // places count the keys that came before the queries
    const Tensor first = c.has(6) && !c.has(4)
                             ? reshape(cast(c[6], DType::i64), {-1, 1, 1, 1}) - whole(queries)
                             : whole(attrs.past);
    const Tensor seen = within_window(first, queries, keys, left, right);
    mask = mask.defined() ? additive(mask, q.dtype()) + additive(seen, q.dtype()) : seen;
  }
  const AttentionResult result = attention(q, k, v, attrs, {.mask = mask});
  const Tensor y = c[0].rank() == 4
                       ? swap_heads(result.out)
                       : reshape(result.out, {q.size(0), queries, q.size(2) * v.size(3)});
  std::vector<Tensor> out{y, swap_heads(k), swap_heads(v)};
  const int64_t stage = c.node.integer("qk_matmul_output_mode", 0);
  check<Unsupported>(stage >= 0 && stage <= 3, "qk_matmul_output_mode = ", stage);
  if (c.node.outputs.size() > 3)
    out.push_back(scores(q, k, mask, attrs, result.log_sum_exp, stage));
  return out;
}

// Angles are those of position_ids in tables, or given for each place.
std::vector<Tensor> rotate(const OpCall& c) {
  const Tensor x = with_heads(c[0], c.node.integer("num_heads", 0));  // [B, T, H, D]
  const int64_t dim = c.node.integer("rotary_embedding_dim", 0), turned = dim ? dim : x.size(3);
  check<ShapeError>(c[1].size(-1) == turned / 2, "RotaryEmbedding: tables of ", c[1].size(-1),
                    " angles for ", turned, " elements. Give one for two.");
  const auto angles = [&](const Tensor& table) {  // [B, T, turned / 2]
    return c.has(3) ? embedding(table, c[3]) : table;
  };
  const Tensor y = rope(x, angles(c[1]), angles(c[2]), {.interleaved = c.node.flag("interleaved")});
  return {c[0].rank() == 4 ? swap_heads(y) : reshape(y, c[0].shape())};
}

}  // namespace

Ops attention_ops() { return {{"Attention", attend}, {"RotaryEmbedding", rotate}}; }

}  // namespace plimsoll::onnx
