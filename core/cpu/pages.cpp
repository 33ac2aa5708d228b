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

namespace {
#if defined(__linux__) && !defined(__SANITIZE_ADDRESS__)
class PageMemory final : public std::pmr::memory_resource {
  void* do_allocate(size_t bytes, size_t) override {  // a page is aligned for anything
    void* const data =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) throw std::bad_alloc();
    return data;
  }
  void do_deallocate(void* data, size_t bytes, size_t) override { munmap(data, bytes); }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};
#endif
}  // namespace

std::pmr::memory_resource* page_memory() {
#if defined(__linux__) && !defined(__SANITIZE_ADDRESS__)
  static PageMemory memory;
  return &memory;
#else
  return std::pmr::new_delete_resource();
#endif
}

void return_free_pages() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

void share_one_heap() {
#ifdef __GLIBC__
  mallopt(M_ARENA_MAX, 1);
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
