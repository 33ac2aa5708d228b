// Multi-head attention of a sequence to itself (Vaswani et al., "Attention Is All You Need", 2017).
//
//   nn::MultiHeadAttention attention(128, init, {.heads = 4, .causal = true});
//   Tensor y = attention(x, mode);                     // [B, T, 128] -> [B, T, 128]
//
// qkv = x Wqkv' + bqkv is split into q, k, v [B, T, H, D / H]; each head computes
// softmax(q k' / sqrt(D / H)) v; the heads side by side pass through the output projection and,
// when asked for, dropout. With a cache in the mode, x goes on where the sequence ended: its keys
// and values join those in the cache, and it attends to all of them, on the CPU with the bits that
// the whole sequence at once would give it. Children: qkv, output, dropout. Errors: ValueError when
// heads do not divide the width, ShapeError for an x that is not [B, T, D], and those of
// KeyValueCache::of().
#pragma once

#include "nn/dropout.h"
#include "nn/linear.h"
#include "ops/attention/attention/attention.h"

namespace plimsoll::nn {

// What an attention keeps of each token in a cache: keys and values [heads, width] each.
struct CacheRow {
  int64_t heads, width;
  DType dtype;
  Device device;
  bool causal;
};

class CachedAttention : public Module {
 public:
  virtual CacheRow cache_row() const = 0;

 protected:
  // attention() of q [B, T, H, D], k and v [B, T, K, D]. Where a sequence goes on, k and v join
  // those in the cache, and q attends to all of them; dropout draws from the mode's key.
  Tensor attend(const Tensor& q, const Tensor& k, const Tensor& v, AttentionAttrs attrs,
                const Mode& mode) const;
};

struct AttentionOptions {
  int64_t heads = 1;
  bool causal = false;  // position t sees positions 0 ... t only
  bool bias = true;
  double dropout = 0;  // of the result
};

class MultiHeadAttention : public CachedAttention {
 public:
  MultiHeadAttention(int64_t width, Initializer& init, const AttentionOptions& options);
  Tensor forward(const Tensor& x, const Mode& mode) const override;
  CacheRow cache_row() const override;

  const AttentionOptions options;

 private:
  int64_t width_;
  const Linear &qkv_, &output_;
  const Dropout& dropout_;
};

}  // namespace plimsoll::nn
