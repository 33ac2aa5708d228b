#include "nn/attention.h"

#include "nn/expect.h"
#include "nn/key_value_cache.h"
#include "ops/indexing/write_rows/write_rows.h"
#include "ops/shape/split/split.h"
#include "ops/shape/view/view.h"

namespace plimsoll::nn {
namespace {

int64_t checked_width(int64_t width, int64_t heads) {
  check_positive("attention", "width and heads", {width, heads});
  check<ValueError>(width % heads == 0, "attention: ", heads, " heads do not divide the width ",
                    width, ". Choose a number of heads that does.");
  return width;
}

}  // namespace

Tensor CachedAttention::attend(const Tensor& q, const Tensor& k, const Tensor& v,
                               AttentionAttrs attrs, const Mode& mode) const {
  if (!mode.training) attrs.dropout = 0;
  if (!mode.cache)
    return attention(q, k, v, attrs, {.key = mode.key, .segments = mode.segments}).out;
  check<StateError>(!mode.segments.defined(),
                    "attention: a cache goes on with one sequence in each row, and there are "
                    "segments. Read sequences that go on one by one.");
  check<StateError>(!k.needs_grad(),
                    "attention: what is in a cache has no gradient, and its keys want one. Read "
                    "under NoGrad.");
  const auto& [keys, values] = mode.cache->of(*this);
  write_rows(keys, k, mode.positions);
  write_rows(values, v, mode.positions);
  return attention(q, keys, values, attrs,
                   {.key = mode.key, .past = slice(mode.positions, 0, 0, 1)})
      .out;
}

MultiHeadAttention::MultiHeadAttention(int64_t width, Initializer& init,
                                       const AttentionOptions& options)
    : options(options),
      width_(checked_width(width, options.heads)),
      qkv_(add<Linear>("qkv", width, 3 * width, init, LinearOptions{.bias = options.bias})),
      output_(add<Linear>("output", width, width, init, LinearOptions{.bias = options.bias})),
      dropout_(add<Dropout>("dropout", options.dropout, init)) {}

Tensor MultiHeadAttention::forward(const Tensor& x, const Mode& mode) const {
  check_sequence("attention", x, width_);
  const int64_t batch = x.size(0), steps = x.size(1), heads = options.heads;
  const Tensor all = reshape(qkv_(x, mode), {batch, steps, 3 * heads, width_ / heads});
  const auto [q, k, v] = split_into<3>(all, 2);
  const Tensor mixed = attend(q, k, v, {.causal = options.causal}, mode);
  return dropout_(output_(reshape(mixed, x.shape()), mode), mode);
}

CacheRow MultiHeadAttention::cache_row() const {
  const Tensor& weight = qkv_.weight();
  return {options.heads, width_ / options.heads, weight.dtype(), weight.device(), options.causal};
}

}  // namespace plimsoll::nn
