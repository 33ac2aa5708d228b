#include "memory/pool/provider.h"

#include <atomic>
#include <cstdlib>
#include <limits>

#include "core/cpu/pages.h"
#include "core/cuda/seam/cuda.h"
#include "memory/pool/available.h"

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace plimsoll {
namespace {

// Large blocks are mapped, and unmapped when they are released: the system has them back at once,
// where a heap would keep them for what comes next. Not under AddressSanitizer, which guards what
// the heap hands out.
bool is_mapped([[maybe_unused]] int64_t bytes) {
#if defined(__linux__) && !defined(__SANITIZE_ADDRESS__)
  return bytes >= int64_t{1} << 20;
#else
  return false;
#endif
}

void* acquire_on_host(int64_t bytes) {
  const auto size = static_cast<size_t>(bytes);
  void* data = nullptr;
  if (is_mapped(bytes)) {
#ifdef __linux__
    data = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) return nullptr;
#endif
  } else {
    data = std::aligned_alloc(kGranule, size);
  }
  prefer_large_pages(data, bytes);
  return data;
}

void release_on_host(void* data, [[maybe_unused]] int64_t bytes) {
#ifdef __linux__
  if (is_mapped(bytes)) {
    munmap(data, static_cast<size_t>(bytes));
    return;
  }
#endif
  std::free(data);
}

}  // namespace

Provider host_provider() {
  return {Device::cpu, acquire_on_host, release_on_host, [] { return available_memory(); }};
}

Provider cuda_provider() {
  return {Device::cuda, [](int64_t bytes) { return cuda_api().allocate(bytes); },
          [](void* data, int64_t) { cuda_api().release(data); },
          [] { return cuda_api().available(); }};
}

Provider null_provider() {
  static std::atomic<uintptr_t> next = kGranule;  // never nullptr: that would mean "no more"
  return {Device::null,
          [](int64_t bytes) {
            return reinterpret_cast<void*>(next.fetch_add(static_cast<uintptr_t>(bytes)));
          },
          [](void*, int64_t) {}, [] { return std::numeric_limits<int64_t>::max(); }};
}

Provider provider_of(Device device) {
  switch (device) {
    case Device::cpu:
      return host_provider();
    case Device::cuda:
      return cuda_provider();
    case Device::null:
      break;
  }
  return null_provider();
}

}  // namespace plimsoll
