#include "memory/provider.h"

#include <unistd.h>

#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <string>

#include "core/cuda.h"

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace plimsoll {
namespace {

// Asks for large pages where they fit into a block. Kernels that walk down the columns of a matrix
// meet a new page in every row; with pages of 4 KiB they wait for the tables of pages instead.
void prefer_large_pages([[maybe_unused]] void* data, [[maybe_unused]] int64_t bytes) {
#ifdef __linux__
  constexpr uintptr_t large = uintptr_t{2} << 20;
  const auto start = reinterpret_cast<uintptr_t>(data);
  const uintptr_t first = (start + large - 1) / large * large;
  const uintptr_t last = (start + static_cast<uintptr_t>(bytes)) / large * large;
  if (data && first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
#endif
}

// What Linux says could be taken without swapping; where it does not say, what is free.
int64_t available_on_host() {
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    int64_t kibibytes = 0;
    if (std::sscanf(line.c_str(), "MemAvailable: %" SCNd64 " kB", &kibibytes) == 1)
      return kibibytes * 1024;
  }
  return sysconf(_SC_AVPHYS_PAGES) * sysconf(_SC_PAGESIZE);
}

}  // namespace

Provider host_provider() {
  return {Device::cpu,
          [](int64_t bytes) {
            void* data = std::aligned_alloc(kGranule, static_cast<size_t>(bytes));
            prefer_large_pages(data, bytes);
            return data;
          },
          [](void* data, int64_t) { std::free(data); }, available_on_host};
}

Provider cuda_provider() {
  return {Device::cuda, [](int64_t bytes) { return cuda_api().allocate(bytes); },
          [](void* data, int64_t) { cuda_api().release(data); },
          [] { return cuda_api().available(); }};
}

Provider pinned_provider() {
  return {Device::cpu, [](int64_t bytes) { return cuda_api().allocate_pinned(bytes); },
          [](void* data, int64_t) { cuda_api().release_pinned(data); }, available_on_host};
}

Provider null_provider() {
  static std::atomic<uintptr_t> next = kGranule;  // never nullptr: that would mean "no more"
  return {Device::null,
          [](int64_t bytes) {
            return reinterpret_cast<void*>(next.fetch_add(static_cast<uintptr_t>(bytes)));
          },
          [](void*, int64_t) {}, [] { return std::numeric_limits<int64_t>::max(); }};
}

}  // namespace plimsoll
