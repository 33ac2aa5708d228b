// PinnedMemory over a host that has 100 bytes to pin (on a GPU: cuda_device_test.cpp).
#include "data/pinned_memory.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "core/cuda/seam/cuda.h"
#include "tests/support/errors.h"

namespace plimsoll::data {
namespace {

std::map<void*, int64_t> pinned;

int64_t pinned_bytes() {
  int64_t sum = 0;
  for (const auto& [data, bytes] : pinned) sum += bytes;
  return sum;
}

CudaApi small_host() {
  pinned.clear();
  CudaApi api{};
  api.allocate_pinned = [](int64_t bytes) -> void* {
    if (pinned_bytes() + bytes > 100) return nullptr;
    void* const data = std::malloc(static_cast<size_t>(bytes));
    pinned[data] = bytes;
    return data;
  };
  api.release_pinned = [](void* data) {
    EXPECT_EQ(pinned.erase(data), 1U);
    std::free(data);
  };
  return api;
}

TEST(DataPinnedMemory, IsHandedOutAgainBySize) {
  const CudaApi api = small_host();
  {
    PinnedMemory memory(api);
    void* const a = memory.allocate(20);
    void* const b = memory.allocate(20);
    memory.deallocate(b, 20);
    void* const other = memory.allocate(30);
    EXPECT_EQ(pinned_bytes(), 70);
    EXPECT_EQ(memory.allocate(20), b);
    memory.deallocate(a, 20);
    memory.deallocate(b, 20);
    memory.deallocate(other, 30);
    EXPECT_EQ(pinned_bytes(), 70);
  }
  EXPECT_EQ(pinned_bytes(), 0);
}

TEST(DataPinnedMemory, WhatIsKeptIsReleasedBeforeThereIsTooLittle) {
  const CudaApi api = small_host();
  PinnedMemory memory(api);
  void* const used = memory.allocate(30);
  memory.deallocate(memory.allocate(60), 60);
  void* const data = memory.allocate(70);
  EXPECT_EQ(pinned_bytes(), 100);
  expect_error<OutOfMemory>([&] { static_cast<void>(memory.allocate(10)); },
                            "loader: no more memory of the host can be pinned: asked for 10 bytes. "
                            "Use fewer workers, or smaller batches.");
  memory.deallocate(data, 70);
  memory.deallocate(used, 30);
}

}  // namespace
}  // namespace plimsoll::data
