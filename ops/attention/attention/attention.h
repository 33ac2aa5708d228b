// Scaled dot-product attention, blockwise: no T x S matrix is ever kept, forward or backward.
//
//   Tensor qkv = reshape(linear(x, w, b), {B, T, 3 * H, D});                     // one product
//   const auto [q, k, v] = split_into<3>(qkv, 2);
//   Tensor y = attention(q, k, v).out;                                           // [B, T, H, D]
//   Tensor z = attention(q, k, v, {.causal = false}, {.mask = real}).out;      // bool [B, 1, 1, S]
#pragma once

#include "core/tensor/tensor.h"

namespace plimsoll {

struct AttentionAttrs {
  bool causal = true;  // query i sees keys j <= i + past
  int64_t past = 0;    // keys before the first query, as of a cache; of no account unless causal
  int64_t window = 0;  // w > 0: of these keys query i sees the last w; 0: all
  double scale = 0;    // of the scores; 0: 1 / sqrt(D)
  double softcap = 0;  // c > 0: scores become c tanh(score / c); 0: they stay
  double dropout = 0;  // share of the probabilities that are dropped
  uint64_t site = 0;   // of the dropout: another number for every layer, as in dropout()
  bool operator==(const AttentionAttrs&) const = default;
};

struct AttentionExtras {
  Tensor mask = {};  // undefined: none
  Tensor key = {};   // of the dropout, from make_key(); only read when dropout > 0
  // In place of attrs.past, for a captured program that serves every length of a cache: i64, one
  // element. What lies in k and v behind the last key that is seen is not read.
  Tensor past = {};
  // Of rows in which several sequences lie one after another: i64 [B, T], the number of the
  // sequence that a position lies in, each with its own in a row. T is S.
  Tensor segments = {};
};

struct AttentionResult {
  Tensor out;          // [B, T, H, E]
  Tensor log_sum_exp;  // [B, H, T], f32, or f64 for f64 inputs
};

// Within each batch b and head h, for the keys j that query i sees:
//
//   s_ij = c tanh(scale q_i . k_j / c) + mask_ij          log_sum_exp_i = log(sum_j exp(s_ij))
//   p_ij = exp(s_ij - log_sum_exp_i)                      out_i = sum_j dropped(p_ij) v_j
//
// q [B, T, H, D]; k [B, S, K, D]; v [B, S, K, E]; one floating dtype, 16-bit types computed in f32.
// They are read through their strides, so slices of one tensor need no copy as long as neighbours
// along the last axis are neighbours in memory. K divides H: head h of the queries reads head
// h K / H of the keys (Ainslie et al., "GQA", arXiv 2305.13245). Causal and T != S: query 0 sees
// key 0, as with is_causal of PyTorch's scaled_dot_product_attention; with .past = S - T the last
// query sees them all. With a window query i sees the keys i + past - window < j <= i + past
// (Beltagy et al., "Longformer", arXiv 2004.05150); blocks that no query sees are not read. On the
// CPU, where all values are finite, a query gets the same bits whichever others are beside it, and
// whether the past is an attribute or a tensor.
//
// The mask broadcasts to [B, H, T, S]. Boolean: only keys with true count. Of q's dtype: added to
// the scores, -infinity hides a key. A query without any key, all hidden, has out 0, log_sum_exp
// -infinity and gives no gradient. Dropout keeps p_ij / (1 - dropout) or 0, drawn from key, site
// and the place of ij (ops/random/dropout), again in the gradient.
//
// With segments a query sees the keys of its own sequence alone, as if each were a row of its own;
// their numbers rise along a row. On the CPU work is done for these only. What differs is the order
// of sums, and what dropout draws.
//
// Both results are differentiable, also by a mask that is added. The tape keeps all inputs, out and
// two numbers per query and head; the gradient computes p again, block by block. Errors:
// ShapeError, DTypeError, ValueError (scale, softcap, dropout, window, segments with a
// past or, on the CPU, that do not rise),
// StateError (dropout without a key).
// Source: Dao et al., "FlashAttention", arXiv 2205.14135.
AttentionResult attention(const Tensor& q, const Tensor& k, const Tensor& v,
                          const AttentionAttrs& attrs = {}, const AttentionExtras& extras = {});

}  // namespace plimsoll
