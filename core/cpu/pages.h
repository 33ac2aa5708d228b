// Pages of the system. Large ones are for memory that kernels walk through in steps: those that go
// down the columns of a matrix meet a new page in every row, and with pages of 4 KiB they wait for
// the tables of pages.
//
//   prefer_large_pages(data, bytes);
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>

namespace plimsoll {

constexpr int64_t kLargePage = int64_t{2} << 20;

// Asks for large pages where they fit into a block; where the system has none nothing happens.
void prefer_large_pages(void* data, int64_t bytes);

// Memory in pages of its own, for what is large and soon freed: the system has it back at once. The
// heap of a thread keeps some MiB of what was freed at its end, even after return_free_pages(). Not
// under AddressSanitizer, which guards what the heap hands out.
std::pmr::memory_resource* page_memory();

// Gives back to the system what the heap keeps of what was freed, where it can be asked to.
void return_free_pages();

// From here on threads that have no heap yet share one. A heap for each reserves 64 MiB of
// addresses on Linux, of which `ulimit -v` may allow few.
void share_one_heap();

struct FreeLargePage {
  void operator()(std::byte* data) const;
};
// kLargePage bytes, which are taken from the system when they are first touched.
using LargePage = std::unique_ptr<std::byte, FreeLargePage>;
LargePage make_large_page();

}  // namespace plimsoll
