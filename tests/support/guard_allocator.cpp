#include "tests/support/guard_allocator.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace plimsoll {
namespace {

constexpr int64_t kGuard = 4 * kGranule;
constexpr auto kPoison = std::byte{0xff};  // all ones is NaN in every floating type, -1 in integers
constexpr auto kCanary = std::byte{0xa5};

bool intact(const std::byte* guard) {
  return std::all_of(guard, guard + kGuard, [](std::byte b) { return b == kCanary; });
}

}  // namespace

void* GuardAllocator::allocate(int64_t bytes, MemoryClass, const char*) {
  if (bytes == 0) return nullptr;
  auto* block = static_cast<std::byte*>(
      ::operator new (static_cast<size_t>(bytes + 2 * kGuard), std::align_val_t{kGranule}));
  std::fill_n(block, kGuard, kCanary);
  std::fill_n(block + kGuard, bytes, kPoison);
  std::fill_n(block + kGuard + bytes, kGuard, kCanary);  // begins right behind the last byte
  ++live_;
  return block + kGuard;
}

void GuardAllocator::deallocate(void* data, int64_t bytes, MemoryClass) noexcept {
  auto* block = static_cast<std::byte*>(data) - kGuard;
  if (!intact(block) || !intact(block + kGuard + bytes)) ++damaged_;
  std::fill_n(block + kGuard, bytes, kPoison);
  --live_;
  ::operator delete (block, std::align_val_t{kGranule});
}

}  // namespace plimsoll
