// Scaled dot-product attention, blockwise: no T x S matrix is ever kept, forward or backward.
//
//   Tensor qkv = reshape(linear(x, w, b), {B, T, 3 * H, D});                     // one product
//   Tensor q = slice(qkv, 2, 0, H), k = slice(qkv, 2, H, 2 * H), v = slice(qkv, 2, 2 * H, 3 * H);
//   Tensor y = attention(q, k, v).out;                                           // [B, T, H, D]
#pragma once

#include "core/tensor.h"

namespace plimsoll {

struct AttentionAttrs {
  bool causal = true;  // query i sees keys j <= i + S - T: the last query sees them all
  double scale = 0;    // of the scores; 0: 1 / sqrt(D)
  bool operator==(const AttentionAttrs&) const = default;
};

struct AttentionResult {
  Tensor out;          // [B, T, H, D]
  Tensor log_sum_exp;  // [B, H, T], f32, or f64 for f64 inputs
};

// Within each batch b and head h, with s_ij = scale q_i . k_j for the keys j that query i sees:
//
//   log_sum_exp_i = log(sum_j exp(s_ij))        p_ij = exp(s_ij - log_sum_exp_i)
//   out_i = sum_j p_ij v_j
//
// q [B, T, H, D]; k and v [B, S, H, D]; one floating dtype, 16-bit types computed in f32. They are
// read through their strides, so slices of one tensor need no copy as long as neighbours along D
// are neighbours in memory. A query that sees no key (causal, S < T) has out 0, log_sum_exp
// -infinity and no gradient; one whose scores are all -infinity has out NaN, as in softmax. Both
// results are differentiable. The tape keeps q, k, v and both results; the gradient computes p
// again, block by block. Errors: ShapeError, DTypeError, ValueError (scale). Source: Dao et al.,
// "FlashAttention", arXiv 2205.14135.
AttentionResult attention(const Tensor& q, const Tensor& k, const Tensor& v,
                          const AttentionAttrs& attrs = {});

}  // namespace plimsoll
