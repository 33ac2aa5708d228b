#include "nn/key_value_cache.h"

#include "nn/expect.h"
#include "ops/random/full/full.h"

namespace plimsoll::nn {

KeyValueCache::KeyValueCache(const Module& model, const KeyValueCacheOptions& options)
    : options_(options) {
  check_positive("key_value_cache", "batch and context", {options.batch, options.context});
  const MemoryScope scope(MemoryClass::cache);
  model.visit([&](const std::string& prefix, const Module& module) {
    const auto* attention = dynamic_cast<const CachedAttention*>(&module);
    if (!attention) return;
    const CacheRow row = attention->cache_row();
    check<ValueError>(row.causal, "key_value_cache: an attention is not causal: \"",
                      prefix.substr(0, prefix.rfind('.')),
                      "\" sees what comes later. Use a model that reads in one direction.");
    const Shape shape{options.batch, options.context, row.heads, row.width};
    const auto room = [&] { return zeros(shape, {row.dtype, row.device}); };
    parts_.emplace(&module, KeysAndValues{room(), room()});
  });
  check<ValueError>(!parts_.empty(),
                    "key_value_cache: the model has no attention, so there is nothing to remember. "
                    "Use one that has.");
}

const KeyValueCache::KeysAndValues& KeyValueCache::of(const CachedAttention& attention) const {
  const auto found = parts_.find(&attention);
  check<StateError>(found != parts_.end(),
                    "attention: the cache was made for another model: it has ", parts_.size(),
                    " parts, and none for this module. Make one for this model.");
  return found->second;
}

Device KeyValueCache::device() const { return parts_.begin()->second.keys.device(); }

int64_t KeyValueCache::bytes() const {
  int64_t total = 0;
  for (const auto& [module, part] : parts_) total += 2 * block_bytes(bytes_of(part.keys.meta()));
  return total;
}

}  // namespace plimsoll::nn
