// What the op of attention and its kernels share. Those of the CPU compute blocks of queries
// against blocks of keys, a matrix product each.
#pragma once

#include <algorithm>
#include <limits>

#include "core/engine/op.h"
#include "ops/attention/attention/attention.h"

namespace plimsoll::attention_detail {

struct Sizes {
  int64_t batch, queries, keys, heads, kv_heads;
  int64_t features, values;  // widths of a key and of a value
  AttentionAttrs attrs;      // its scale is resolved
  bool masked = false;       // there is a mask
  bool segmented = false;    // there are segments

  // Beyond these every query sees nothing, or everything.
  constexpr int64_t clamped_past(int64_t past) const {
    return std::clamp<int64_t>(past, -queries, keys + attrs.window);
  }
  // Query heads that share a head of keys.
  constexpr int64_t group() const { return kv_heads > 0 ? heads / kv_heads : 0; }

  // The end of the keys that query i sees, and the first of them.
  constexpr int64_t seen(int64_t i) const {
    return attrs.causal ? std::clamp<int64_t>(i + attrs.past + 1, 0, keys) : keys;
  }
  constexpr int64_t first_seen(int64_t i) const {
    if (attrs.window == 0) return 0;
    return std::clamp<int64_t>(i + attrs.past + 1 - attrs.window, 0, seen(i));
  }
  // The first query that sees key j, and the end of those that do.
  constexpr int64_t first_query(int64_t j) const {
    return attrs.causal ? std::clamp<int64_t>(j - attrs.past, 0, queries) : 0;
  }
  constexpr int64_t end_query(int64_t j) const {
    if (attrs.window == 0) return queries;
    return std::clamp<int64_t>(j - attrs.past + attrs.window, 0, queries);
  }
};

// The inputs that a call may lack; nullptr where it does.
struct Extras {
  const View* mask = nullptr;          // [B or 1, H or 1, T or 1, S or 1]
  const View* key = nullptr;           // of the dropout
  const View* segments = nullptr;      // [B, T]
  const View* past = nullptr;          // a number in place of attrs.past
  const View* dlog_sum_exp = nullptr;  // [B, H, T]
};

// Of a call of the op, or of one of its gradients (attention.cpp); attrs.past only where that is no
// tensor.
Sizes sizes_of(const Call& call);
// The same with the tensor's number, which must be in the host's memory.
Sizes sizes_of(const Call& call, const Extras& extras);
Extras extras_of(const Call& call);
Extras extras_of_gradient(const Call& call);

// The sequences of batch b: which positions lie in one with position i. Without segments all do.
class Segments {
 public:
  Segments(const Sizes& sizes, const Extras& extras, int64_t b)
      : keys_(sizes.keys),
        queries_(sizes.queries),
        of_(extras.segments ? extras.segments->as<int64_t>() + b * sizes.keys : nullptr) {}

  bool any() const { return of_ != nullptr; }
  bool same(int64_t i, int64_t j) const { return of_[i] == of_[j]; }
  // The first key that query i may see, and how many before the first that it may not.
  int64_t first_key(int64_t i) const {
    if (!of_) return 0;
    while (i > 0 && same(i - 1, i)) --i;
    return i;
  }
  int64_t keys_until(int64_t i) const { return of_ ? end(i) : keys_; }
  // The first query that may see key j, and how many before the first that may not.
  int64_t first_query(int64_t j) const { return first_key(j); }
  int64_t queries_until(int64_t j) const { return of_ ? end(j) : queries_; }

 private:
  int64_t end(int64_t i) const {
    for (++i; i < keys_ && same(i - 1, i);) ++i;
    return i;
  }

  int64_t keys_, queries_;
  const int64_t* of_;
};

// What the gradients need to know of a row of scores: p = exp((s - highest) f - log_total), where f
// is the scale if that alone finishes scores, and 1 otherwise. The two are kept apart: where all
// scores are about -3e38, as under a finite mask of all keys, their sum would have forgotten the
// logarithm.
template <class C>
struct Softmax {
  C highest, log_total;
  bool any() const { return log_total != -std::numeric_limits<C>::infinity(); }  // a key counts
};

// In: q, k, v, their last axes dense. Out: out, log_sum_exp, Softmax. The workspace holds one
// scratch area for each thread that may take part.
void forward(const Call& call, const Sizes& sizes, const Extras& extras);
int64_t forward_workspace(const Sizes& sizes, DType dtype);

// The same, to the bit, for one query in each batch without mask, softcap and dropout
// (one_query.cpp).
bool is_one_query(const Sizes& sizes);
void forward_one_query(const Call& call, const Sizes& sizes);
int64_t one_query_workspace(const Sizes& sizes, DType dtype);

// In: q, k, v, out, Softmax, dout. Out: dq, dk, dv.
void backward(const Call& call, const Sizes& sizes, const Extras& extras);
int64_t backward_workspace(const Sizes& sizes, DType dtype);

// In: q, k, v, out, Softmax, dout. Out: the gradient of the mask.
void mask_backward(const Call& call, const Sizes& sizes, const Extras& extras);
int64_t mask_backward_workspace(const Sizes& sizes, DType dtype, const Shape& mask);

}  // namespace plimsoll::attention_detail
