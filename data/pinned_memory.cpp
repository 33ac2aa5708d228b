#include "data/pinned_memory.h"

#include "core/cuda.h"

namespace plimsoll::data {

PinnedMemory::~PinnedMemory() {
  for (const auto& [bytes, data] : free_) cuda_api().release_pinned(data);
}

void* PinnedMemory::do_allocate(size_t bytes, size_t) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = free_.find(bytes); found != free_.end())
      return free_.extract(found).mapped();
  }
  void* const data = cuda_api().allocate_pinned(static_cast<int64_t>(bytes));
  check<OutOfMemory>(data != nullptr,
                     "loader: no more memory of the host can be pinned: asked for ", bytes,
                     " bytes. Use fewer workers, or smaller batches.");
  return data;
}

void PinnedMemory::do_deallocate(void* data, size_t bytes, size_t) {
  const std::lock_guard lock(mutex_);
  free_.emplace(bytes, data);
}

}  // namespace plimsoll::data
