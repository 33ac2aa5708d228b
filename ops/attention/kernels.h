// The CPU kernels of attention: blocks of queries against blocks of keys, a matrix product each.
#pragma once

#include <algorithm>

#include "core/op.h"

namespace plimsoll::attention_detail {

struct Sizes {
  int64_t batch, queries, keys, heads, features;
  bool causal;
  double scale;

  // How many keys query i sees: always the first ones.
  int64_t seen(int64_t i) const {
    return causal ? std::clamp<int64_t>(i + keys - queries + 1, 0, keys) : keys;
  }
  // The first query that sees key j.
  int64_t first_query(int64_t j) const {
    return causal ? std::clamp<int64_t>(j - keys + queries, 0, queries) : 0;
  }
};

// In: q, k, v, their last axis dense. Out: out, log_sum_exp. The workspace holds one scratch area
// for each thread that may take part.
void forward(const Call& call, const Sizes& sizes);
int64_t forward_workspace(const Sizes& sizes, DType dtype);

// In: q, k, v, out, log_sum_exp, dout and perhaps the gradient of log_sum_exp. Out: dq, dk, dv.
void backward(const Call& call, const Sizes& sizes);
int64_t backward_workspace(const Sizes& sizes, DType dtype);

}  // namespace plimsoll::attention_detail
