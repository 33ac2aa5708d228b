// PinnedMemory: memory of the host that the GPU reads by itself, for batches on their way to it. A
// copy from other memory goes through a buffer of the driver first.
//
//   PinnedMemory memory;
//   std::pmr::vector<float> x(n, &memory);
//
// Pinning is slow: what is given back is kept, for the next of its size.
#pragma once

#include <map>
#include <memory_resource>
#include <mutex>
#include <utility>

namespace plimsoll {
struct CudaApi;
}

namespace plimsoll::data {

// Safe to use from any thread. DeviceError without a GPU; OutOfMemory when there is none left, also
// after all that is kept was released.
class PinnedMemory : public std::pmr::memory_resource {
 public:
  PinnedMemory();
  explicit PinnedMemory(const CudaApi& api) : api_(api) {}
  ~PinnedMemory() override;  // after everything was given back
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;

 private:
  void* do_allocate(size_t bytes, size_t alignment) override;
  void do_deallocate(void* data, size_t bytes, size_t alignment) override;
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

  void release_free();

  const CudaApi& api_;
  std::mutex mutex_;  // guards what follows
  // All that is pinned, by size; whether it is free. Giving back may not fail: it makes no entry.
  std::map<std::pair<size_t, void*>, bool> blocks_;
};

}  // namespace plimsoll::data
