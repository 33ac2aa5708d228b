#include "core/cpu/pages.h"

#include <cstdlib>
#include <new>
#ifdef __linux__
#include <sys/mman.h>
#endif
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace plimsoll {

void prefer_large_pages([[maybe_unused]] void* data, [[maybe_unused]] int64_t bytes) {
#ifdef __linux__
  constexpr auto large = static_cast<uintptr_t>(kLargePage);
  const auto start = reinterpret_cast<uintptr_t>(data);
  const uintptr_t first = (start + large - 1) / large * large;
  const uintptr_t last = (start + static_cast<uintptr_t>(bytes)) / large * large;
  if (data && first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
#endif
}

void return_free_pages() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

void FreeLargePage::operator()(std::byte* data) const { std::free(data); }

LargePage make_large_page() {
  constexpr auto bytes = static_cast<size_t>(kLargePage);
  LargePage page(static_cast<std::byte*>(std::aligned_alloc(bytes, bytes)));
  if (!page) throw std::bad_alloc();
  prefer_large_pages(page.get(), kLargePage);
  return page;
}

}  // namespace plimsoll
