#include "data/pinned_memory.h"

#include <memory>

#include "core/cuda/seam/cuda.h"

namespace plimsoll::data {

PinnedMemory::PinnedMemory() : PinnedMemory(cuda_api()) {}

PinnedMemory::~PinnedMemory() { release_free(); }

void PinnedMemory::release_free() {
  const std::lock_guard lock(mutex_);
  std::erase_if(blocks_, [&](const auto& block) {
    if (block.second) api_.release_pinned(block.first.second);
    return block.second;
  });
}

void* PinnedMemory::do_allocate(size_t bytes, size_t) {
  {
    const std::lock_guard lock(mutex_);
    for (auto block = blocks_.lower_bound({bytes, nullptr});
         block != blocks_.end() && block->first.first == bytes; ++block)
      if (std::exchange(block->second, false)) return block->first.second;
  }
  const auto pin = [&] { return api_.allocate_pinned(static_cast<int64_t>(bytes)); };
  std::unique_ptr<void, void (*)(void*)> data(pin(), api_.release_pinned);
  if (!data) {
    release_free();
    data.reset(pin());
  }
  check<OutOfMemory>(data != nullptr,
                     "loader: no more memory of the host can be pinned: asked for ", bytes,
                     " bytes. Use fewer workers, or smaller batches.");
  const std::lock_guard lock(mutex_);
  blocks_.emplace(std::pair(bytes, data.get()), false);
  return data.release();
}

void PinnedMemory::do_deallocate(void* data, size_t bytes, size_t) {
  const std::lock_guard lock(mutex_);
  blocks_.at({bytes, data}) = true;
}

}  // namespace plimsoll::data
