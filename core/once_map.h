// OnceMap: a value for each key, made by whoever asks for it first. Others who ask for the same one
// wait until it is there; values of other keys are made meanwhile.
//
//   OnceMap<Shape, Plan> plans;
//   const Plan& plan = plans.find(shape, make_plan);    // from any thread
#pragma once

#include <map>
#include <mutex>
#include <optional>

namespace plimsoll {

template <class Key, class Value>
class OnceMap {
 public:
  // make(key), called once; good as long as the map. What it throws comes out, and the next one who
  // asks calls it again. It may ask for other keys, not for this one.
  template <class Make>
  const Value& find(const Key& key, const Make& make) {
    Entry& entry = entry_of(key);
    const std::lock_guard lock(entry.mutex);
    if (!entry.value) entry.value.emplace(make(key));
    return *entry.value;
  }

 private:
  struct Entry {
    std::mutex mutex;  // held while the value is made
    std::optional<Value> value;
  };

  Entry& entry_of(const Key& key) {
    const std::lock_guard lock(mutex_);
    return entries_[key];
  }

  std::mutex mutex_;  // guards the map, not the entries, which stay where they are
  std::map<Key, Entry> entries_;
};

}  // namespace plimsoll
