// Copies beside the kernels, and batches that are copied while a GPU works on those before them.
// Skipped by name where there is none; simulated_cuda_tests runs them everywhere.
#include <gtest/gtest.h>

#include "data/device_prefetcher.h"
#include "data/images/builtin_images.h"
#include "data/loader.h"
#include "data/pinned_memory.h"
#include "memory/pool/pooled_allocator.h"
#include "tests/support/errors.h"

namespace plimsoll {
namespace {

class CudaPrefetch : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = why_no_cuda(); !why.empty()) GTEST_SKIP() << why;
  }
};

// One block is written by the copies again and again, and read by the stream of kernels after each;
// some of what is read is looked at before the next copy.
TEST_F(CudaPrefetch, CopiesBesideTheKernelsAreOrdered) {
  data::PinnedMemory memory;
  std::pmr::vector<int64_t> values({1, 2, 3, 4, 5, 6, 7}, &memory);
  const Tensor block = Tensor::empty({{}, DType::i64, Device::cuda});
  const Tensor read = Tensor::empty({{7}, DType::i64, Device::cuda});
  for (size_t i = 0; i < values.size(); ++i) {
    cuda_queue().follow(cuda_queue().copy_beside(view_of(block.value()).data, &values[i],
                                                 sizeof(int64_t), cuda_queue().mark()));
    cuda_queue().copy_direct(view_of(read.value()).as<int64_t>() + i, view_of(block.value()).data,
                             sizeof(int64_t));
    if (i < 2) {
      EXPECT_EQ(read.to_vector<int64_t>()[i], values[i]);
    }
  }
  EXPECT_EQ(read.to_vector<int64_t>(), (std::vector<int64_t>{1, 2, 3, 4, 5, 6, 7}));
}

TEST_F(CudaPrefetch, PrefetchedBatchesAreThoseOfTheCpu) {
  const data::ImageDataset images = data::draw_images(data::Split::test, {.count = 50});
  for (const bool at_once : {false, true}) {
    data::LoaderAttrs attrs{.batch = 8,
                            .shuffle = true,
                            .augment = {.crop = 3, .cutout = at_once ? 9 : 0},
                            .workers = at_once ? 2 : 0};
    data::Loader here(images, attrs);
    attrs.device = Device::cuda;
    data::Loader there(images, attrs);
    data::DevicePrefetcher prefetcher;
    std::vector<data::Batch> batches;  // whoever waits for a batch changes what runs when
    const auto compare = [&] {
      for (const data::Batch& batch : batches) {
        const auto expected = here.next();
        ASSERT_TRUE(expected);
        EXPECT_EQ(batch.x.to_vector<float>(), expected->x.to_vector<float>());
        EXPECT_EQ(batch.y.to_vector<int64_t>(), expected->y.to_vector<int64_t>());
      }
      batches.clear();
    };
    for (uint64_t epoch = 0; epoch < 3; ++epoch) {
      here.start(epoch);
      there.start(epoch);
      prefetcher.start([&] { return there.next_packed(); });
      const int64_t waits = cuda_queue().counts().waits;
      for (int taken = 0; epoch != 1 || taken < 2; ++taken) {  // the others are given up
        const auto batch = prefetcher.next();
        if (!batch) break;
        batches.push_back(*batch);
        if (at_once) compare();
      }
      EXPECT_TRUE(at_once || cuda_queue().counts().waits == waits);
      compare();
      EXPECT_TRUE(epoch == 1 || !(prefetcher.next() || here.next()));
    }
    there.start(3);
    prefetcher.start([&] { return there.next_packed(); });  // dropped with its first batch
  }
}

TEST_F(CudaPrefetch, APrefetcherHoldsOneBatchUntilTheLastIsTaken) {
  const data::ImageDataset images = data::draw_images(data::Split::test, {.count = 20});
  data::Loader loader(images, {.batch = 8, .device = Device::cuda});
  const auto pool = std::make_shared<PooledAllocator>(cuda_provider());
  const AllocatorScope scope(pool);
  const int64_t packed = block_bytes(loader.packed_bytes());
  EXPECT_EQ(packed, block_bytes(8 * (28 * 28 + 4 * 4 + 8)));
  data::DevicePrefetcher prefetcher;
  loader.start(0);
  prefetcher.start([&] { return loader.next_packed(); });
  for (const int64_t left : {2, 1, 0}) {
    EXPECT_EQ(pool->stats().in_use, packed);
    const auto batch = prefetcher.next();
    ASSERT_TRUE(batch);
    EXPECT_EQ(pool->stats().in_use, block_bytes(bytes_of(batch->x.meta())) +
                                        block_bytes(bytes_of(batch->y.meta())) +
                                        (left > 0 ? packed : 0));
    MemoryStats held = pool->stats();
    EXPECT_EQ(at(held.by_class, MemoryClass::input), held.in_use);
  }
  EXPECT_EQ(pool->stats().in_use, 0);
}

// Errors come in their turn; what cannot be taken for lack of memory can be taken later.
TEST_F(CudaPrefetch, ErrorsOfPrefetchedBatchesComeAfterThoseBeforeThem) {
  data::PinnedMemory memory;
  data::DevicePrefetcher prefetcher;
  expect_error<StateError>([&] { prefetcher.next(); },
                           "prefetch: no batches were begun. Call start() first.");
  const Tensor ids = Tensor::of<int64_t>({1, 2, 3}, {3});
  const auto start = [&] {
    prefetcher.start(data::mapped(data::numbers(0, 5), [&](int64_t i) {
      check<DataError>(i < 2, "text: it is damaged.");
      return data::pack({Tensor::of<int64_t>({1 + i, 2 + i, 3 + i}, {3}), ids}, &memory);
    }));
  };
  start();
  for (const int64_t i : {0, 1}) {
    const auto batch = prefetcher.next();
    ASSERT_TRUE(batch);
    EXPECT_EQ(batch->x.to_vector<int64_t>(), (std::vector<int64_t>{1 + i, 2 + i, 3 + i}));
  }
  for (int i = 0; i < 2; ++i)
    expect_error<DataError>([&] { prefetcher.next(); }, "text: it is damaged.");
  start();
  {
    const auto full = std::make_shared<PooledAllocator>(cuda_provider(), kGranule);
    const AllocatorScope scope(full);
    EXPECT_THROW(prefetcher.next(), OutOfMemory);
  }
  const data::Batch first = *prefetcher.next();
  EXPECT_EQ(first.x.to_vector<int64_t>(), (std::vector<int64_t>{1, 2, 3}));
  expect_error<ValueError>([&] { data::pack(first, &memory); },
                           "pack: a batch is packed where it lies on the cpu, contiguous: i64 [3] "
                           "on cuda. Make it there.");
}

}  // namespace
}  // namespace plimsoll
