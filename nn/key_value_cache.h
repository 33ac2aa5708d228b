// KeyValueCache: the keys and values of what attention has read, so that a sequence goes on without
// being read again: one token after another costs what one token costs.
//
//   const nn::KeyValueCache cache(model, {.context = 1024});
//   Tensor next = model(ids, nn::going_on(cache, positions));    // ids [1, T], positions i64 [T]
//
// positions[0] is how many tokens were read before: 0 begins anew, whatever the cache holds. Every
// causal attention (CachedAttention) of the model has its part; positions are added by
// LearnedPositions and SinusoidalPositions. Read under NoGrad: what is in the cache is off the
// tape.
#pragma once

#include <map>

#include "nn/attention.h"

namespace plimsoll::nn {

struct KeyValueCacheOptions {
  int64_t batch = 1;    // B: sequences side by side
  int64_t context = 0;  // C: positions there is room for
};

class KeyValueCache {
 public:
  struct KeysAndValues {
    Tensor keys, values;  // [B, C, H, D / H], zeros at first, of the attention's type and device
  };

  // Takes 2 B C heads width elements for each attention of the model. ValueError for sizes below 1,
  // and for a model without attention or with one that is not causal: it would have to see what
  // comes later.
  KeyValueCache(const Module& model, const KeyValueCacheOptions& options);

  // StateError for a module of another model.
  const KeysAndValues& of(const CachedAttention& attention) const;
  Device device() const;
  const KeyValueCacheOptions& options() const { return options_; }
  int64_t bytes() const;  // as a pool counts them

 private:
  KeyValueCacheOptions options_;
  std::map<const Module*, KeysAndValues> parts_;
};

// What to call a model with where x, at these positions, goes on from the cache.
inline Mode going_on(const KeyValueCache& cache, const Tensor& positions) {
  return {.cache = &cache, .positions = positions};
}

}  // namespace plimsoll::nn
