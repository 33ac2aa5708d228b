#include "memory/provider.h"

#include <atomic>
#include <cstdlib>

namespace plimsoll {

Provider host_provider() {
  return {Device::cpu,
          [](int64_t bytes) { return std::aligned_alloc(kGranule, static_cast<size_t>(bytes)); },
          [](void* data, int64_t) { std::free(data); }};
}

Provider null_provider() {
  static std::atomic<uintptr_t> next = kGranule;  // never nullptr: that would mean "no more"
  return {Device::null,
          [](int64_t bytes) {
            return reinterpret_cast<void*>(next.fetch_add(static_cast<uintptr_t>(bytes)));
          },
          [](void*, int64_t) {}};
}

}  // namespace plimsoll
