// The CPU kernels of attention: blocks of queries against blocks of keys, a matrix product each.
#pragma once

#include <algorithm>

#include "core/op.h"
#include "ops/attention/attention.h"

namespace plimsoll::attention_detail {

struct Sizes {
  int64_t batch, queries, keys, heads, kv_heads;
  int64_t features, values;  // widths of a key and of a value
  AttentionAttrs attrs;      // its scale is resolved

  // Query heads that share a head of keys.
  int64_t group() const { return kv_heads > 0 ? heads / kv_heads : 0; }

  // How many keys query i sees: always the first ones.
  int64_t seen(int64_t i) const {
    return attrs.causal ? std::clamp<int64_t>(i + attrs.past + 1, 0, keys) : keys;
  }
  // The first query that sees key j.
  int64_t first_query(int64_t j) const {
    return attrs.causal ? std::clamp<int64_t>(j - attrs.past, 0, queries) : 0;
  }
};

// The inputs that a call may lack; nullptr where it does.
struct Extras {
  const View* mask = nullptr;          // [B or 1, H or 1, T or 1, S or 1]
  const View* key = nullptr;           // of the dropout
  const View* dlog_sum_exp = nullptr;  // [B, H, T]
};

// In: q, k, v, their last axes dense. Out: out, log_sum_exp. The workspace holds one scratch area
// for each thread that may take part.
void forward(const Call& call, const Sizes& sizes, const Extras& extras);
int64_t forward_workspace(const Sizes& sizes, DType dtype);

// In: q, k, v, out, log_sum_exp, dout. Out: dq, dk, dv.
void backward(const Call& call, const Sizes& sizes, const Extras& extras);
int64_t backward_workspace(const Sizes& sizes, DType dtype);

// In: q, k, v, out, log_sum_exp, dout. Out: the gradient of the mask.
void mask_backward(const Call& call, const Sizes& sizes, const Extras& extras);
int64_t mask_backward_workspace(const Sizes& sizes, DType dtype, const Shape& mask);

}  // namespace plimsoll::attention_detail
