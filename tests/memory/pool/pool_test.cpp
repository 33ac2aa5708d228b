// PooledAllocator: best fit, growing together, limit, statistics, threads.
#include "memory/pool/pooled_allocator.h"

#include <algorithm>
#include <cstdlib>
#include <random>
#include <thread>

#include "tests/support/memory_ops.h"

namespace plimsoll {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr auto kActivation = MemoryClass::activation;

struct Pool : PooledAllocator {
  using PooledAllocator::PooledAllocator;
  std::byte* take(int64_t bytes, MemoryClass c = kActivation) {
    return static_cast<std::byte*>(allocate(bytes, c, "test"));
  }
  void give(std::byte* data, int64_t bytes, MemoryClass c = kActivation) {
    deallocate(data, bytes, c);
  }
};

TEST(MemoryPool, TakesTheTightestHole) {
  Pool pool(null_provider());
  std::byte* large = pool.take(640);
  pool.take(64);
  std::byte* fitting = pool.take(320);
  pool.take(64);
  std::byte* small = pool.take(192);
  pool.take(64);
  pool.give(large, 640);
  pool.give(fitting, 320);
  pool.give(small, 192);
  EXPECT_EQ(pool.take(256), fitting);
  EXPECT_EQ(pool.take(60), fitting + 256);  // what was left of it
  EXPECT_EQ(pool.take(640), large);
  EXPECT_EQ(pool.take(192), small);
  EXPECT_EQ(pool.stats().reserved, 2 * kMiB);
}

TEST(MemoryPool, NeighboursGrowTogetherInAnyOrder) {
  std::vector<int> order{0, 1, 2, 3};
  do {
    Pool pool(null_provider());
    std::vector<std::byte*> blocks;
    for (int i = 0; i < 4; ++i) blocks.push_back(pool.take(kMiB / 2));
    for (const int i : order) pool.give(blocks[static_cast<size_t>(i)], kMiB / 2);
    EXPECT_EQ(pool.stats().largest_free, 2 * kMiB);
    EXPECT_EQ(pool.stats().fragmentation, 0);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(MemoryPool, SegmentsStayApart) {
  for (const bool forward : {true, false}) {
    Pool pool(null_provider());  // its addresses follow one another, yet segments are not joined
    std::byte* a = pool.take(3 * kMiB);
    std::byte* b = pool.take(5 * kMiB);
    ASSERT_EQ(a + 3 * kMiB, b);
    if (forward) pool.give(a, 3 * kMiB);
    pool.give(b, 5 * kMiB);
    if (!forward) pool.give(a, 3 * kMiB);
    const MemoryStats stats = pool.stats();
    EXPECT_EQ(stats.free, 8 * kMiB);
    EXPECT_EQ(stats.largest_free, 5 * kMiB);
    EXPECT_DOUBLE_EQ(stats.fragmentation, 1 - 5.0 / 8);
    pool.trim();
    EXPECT_EQ(pool.stats().reserved, 0);
  }
}

TEST(MemoryPool, SmallBlocksStayOutOfLargeSegments) {
  Pool pool(null_provider());
  pool.give(pool.take(8 * kMiB), 8 * kMiB);
  std::byte* small = pool.take(64);
  EXPECT_EQ(pool.stats().reserved, 10 * kMiB);
  pool.take(8 * kMiB);  // still fits where it was
  EXPECT_EQ(pool.stats().reserved, 10 * kMiB);
  pool.give(small, 64);
}

TEST(MemoryPool, UnderALimitEveryByteOfItCanBeUsed) {
  Pool pool(null_provider(), 8 * kMiB);
  std::byte* small = pool.take(640);
  EXPECT_EQ(pool.stats().reserved, 640);  // no segment of 2 MiB
  std::byte* large = pool.take(8 * kMiB - 640);
  EXPECT_THROW(pool.take(1), OutOfMemory);
  pool.give(large, 8 * kMiB - 640);
  EXPECT_EQ(pool.stats().reserved, 8 * kMiB);  // it is kept for the next block of this size
  EXPECT_EQ(pool.take(8 * kMiB - 640), large);
  pool.give(large, 8 * kMiB - 640);
  pool.take(5 * kMiB);  // not cut from the cached one, which goes back
  EXPECT_EQ(pool.stats().reserved, 5 * kMiB + 640);
  pool.give(small, 640);
  pool.take(3 * kMiB);
  EXPECT_EQ(pool.stats().in_use, 8 * kMiB);
}

// Any sequence of blocks: one can be had exactly when it and those in use are within the limit.
TEST(MemoryPool, UnderALimitNothingElseIsRefused) {
  constexpr int64_t kLimit = 4 * kMiB;
  Pool pool(null_provider(), kLimit);
  std::mt19937 random(1);
  std::vector<std::pair<std::byte*, int64_t>> held;
  int refused = 0;
  for (int k = 0; k < 20000; ++k) {
    const int64_t bytes = 64 * (1 + static_cast<int64_t>(random() % (random() % 2 ? 8 : 16384)));
    const bool fits = pool.stats().in_use + bytes <= kLimit;
    try {
      held.emplace_back(pool.take(bytes), bytes);
      EXPECT_TRUE(fits);
    } catch (const OutOfMemory&) {
      EXPECT_FALSE(fits);
      ++refused;
      std::swap(held[random() % held.size()], held.back());
      pool.give(held.back().first, held.back().second);
      held.pop_back();
    }
    EXPECT_LE(pool.stats().reserved, kLimit);
  }
  EXPECT_GT(refused, 1000);
}

TEST(MemoryPool, NoMoreIsGivenBackThanMakesRoom) {
  Pool pool(null_provider(), 10 * kMiB);
  std::vector<std::pair<std::byte*, int64_t>> blocks;
  for (const int64_t size : {4 * kMiB, 3 * kMiB, 2 * kMiB})
    blocks.emplace_back(pool.take(size), size);
  for (const auto& [data, bytes] : blocks) pool.give(data, bytes);
  pool.keep_history(10);
  pool.take(3 * kMiB + 64);  // 2 MiB + 64 more than there is: the cached 3 MiB go
  EXPECT_EQ(pool.stats().reserved, 9 * kMiB + 64);
  EXPECT_EQ(pool.history()[0].bytes, 3 * kMiB);
  EXPECT_THROW(pool.take(10 * kMiB), OutOfMemory);  // would not fit anyway: the cache stays
  EXPECT_EQ(pool.stats().reserved, 9 * kMiB + 64);
}

TEST(MemoryPool, HistoryKeepsTheLastEvents) {
  using enum MemoryEvent::Kind;
  Pool pool(null_provider());
  pool.give(pool.take(64), 64);
  EXPECT_TRUE(pool.history().empty());
  pool.trim();
  pool.keep_history(4);
  std::byte* x = pool.take(3 * kMiB, MemoryClass::gradient);
  ASSERT_EQ(pool.history().size(), 2u);
  EXPECT_EQ(pool.history()[0].kind, segment_allocate);
  EXPECT_EQ(pool.history()[1].op, std::string("test"));
  EXPECT_EQ(pool.history()[1].memory_class, MemoryClass::gradient);
  EXPECT_EQ(pool.history()[1].address, x);
  pool.give(x, 3 * kMiB, MemoryClass::gradient);
  pool.trim();
  pool.take(60);
  std::vector<MemoryEvent::Kind> kinds;
  int64_t last = 0;
  for (const MemoryEvent& event : pool.history()) {
    kinds.push_back(event.kind);
    EXPECT_GE(event.nanoseconds, last);
    last = event.nanoseconds;
  }
  EXPECT_EQ(kinds, (std::vector{free, segment_free, segment_allocate, allocate}));
  EXPECT_EQ(pool.history()[3].bytes, 64);
  pool.keep_history(0);
  EXPECT_TRUE(pool.history().empty());
}

TEST(MemoryPool, OutOfMemorySaysWhatHoldsItAndCanBeRecoveredFrom) {
  Pool pool(null_provider(), 10 * kMiB);
  pool.take(2 * kMiB, MemoryClass::parameter);
  std::byte* x = pool.take(6 * kMiB + kMiB / 2);
  const MemoryStats before = pool.stats();
  expect_error<OutOfMemory>(
      [&] { pool.allocate(4 * kMiB, kActivation, "matmul"); },
      "matmul: out of memory on null: asked for 4.0 MiB (4194304 bytes), in use 8.5 MiB "
      "(parameters 2.0 MiB, activations 6.5 MiB), largest free block 0 B, fragmentation 0 %, "
      "limit 10.0 MiB (10485760 bytes). Use a smaller batch, checkpoint() or a captured Step: "
      "2621440 bytes less suffice, or raise the limit to 13107200 bytes.");
  EXPECT_EQ(pool.stats().in_use, before.in_use);
  EXPECT_EQ(pool.stats().allocations, before.allocations);
  pool.set_limit(13107200);
  EXPECT_NE(pool.take(4 * kMiB), nullptr);  // what the message promised
  pool.give(x, 6 * kMiB + kMiB / 2);
  EXPECT_NE(pool.take(6 * kMiB), nullptr);
}

TEST(MemoryPool, AProviderThatHasNoMoreIsOutOfMemoryToo) {
  Provider stingy = null_provider();
  stingy.acquire = [acquire = stingy.acquire](int64_t bytes) {
    return bytes > kMiB ? nullptr : acquire(bytes);
  };
  Pool pool(stingy);
  EXPECT_NE(pool.take(64), nullptr);  // refused 2 MiB, given 64 bytes
  expect_error<OutOfMemory>(
      [&] { pool.take(3 * kMiB); },
      "test: out of memory on null: asked for 3.0 MiB (3145728 bytes), in use 64 B (activations "
      "64 B), largest free block 0 B, fragmentation 0 %, limit none. Use a smaller batch, "
      "checkpoint() or a captured Step.");
}

TEST(MemoryPool, CountsByClassAndRemembersThePeak) {
  Pool pool(host_provider());
  std::byte* w = pool.take(1000, MemoryClass::parameter);  // 1024 in granules
  std::byte* x = pool.take(3 * kMiB);
  pool.reclassify(3 * kMiB, kActivation, MemoryClass::input);
  pool.give(x, 3 * kMiB, MemoryClass::input);
  const MemoryStats stats = pool.stats();
  EXPECT_EQ(stats.in_use, 1024);
  EXPECT_EQ(stats.by_class[static_cast<size_t>(MemoryClass::parameter)], 1024);
  EXPECT_EQ(stats.peak.bytes, 1024 + 3 * kMiB);
  EXPECT_EQ(bytes_text(stats.peak.by_class), "parameters 1.0 KiB, inputs 3.0 MiB");
  EXPECT_EQ(stats.allocations, 2);
  EXPECT_EQ(stats.frees, 1);
  EXPECT_EQ(stats.free, stats.reserved - 1024);
  pool.reset_peak();
  EXPECT_EQ(pool.stats().peak.bytes, 1024);
  EXPECT_EQ(pool.take(0), nullptr);
  pool.give(nullptr, 0);
  pool.give(w, 1000, MemoryClass::parameter);
  EXPECT_EQ(pool.stats().in_use, 0);
}

TEST(MemoryPool, RegionsHavePeaksOfTheirOwn) {
  Pool pool(null_provider());
  pool.give(pool.take(9 * kMiB), 9 * kMiB);
  const PeakScope outer(pool);
  pool.give(pool.take(2 * kMiB), 2 * kMiB);
  {
    const PeakScope inner(pool);
    std::byte* held = pool.take(kMiB);
    EXPECT_EQ(inner.peak().bytes, kMiB);
    pool.give(held, kMiB);
  }
  EXPECT_EQ(outer.peak().bytes, 2 * kMiB);
  EXPECT_EQ(pool.stats().peak.bytes, 9 * kMiB);
}

// Many threads write their own pattern into what they hold: nobody's bytes are handed out twice.
TEST(MemoryPool, ThreadsNeverShareABlock) {
  Pool pool(host_provider(), 64 * kMiB);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&pool, t] {
      std::mt19937 random(static_cast<uint32_t>(t));
      std::vector<std::pair<std::byte*, int64_t>> held;
      for (int k = 0; k < 20000; ++k) {
        if (held.size() < 20 && random() % 2) {
          const int64_t bytes =
              1 + static_cast<int64_t>(random() % (random() % 200 ? 500 : 2 * kMiB));
          held.emplace_back(pool.take(bytes), bytes);
          EXPECT_EQ(reinterpret_cast<uintptr_t>(held.back().first) % kGranule, 0u);
          std::memset(held.back().first, t + 1, static_cast<size_t>(bytes));
        } else if (!held.empty()) {
          std::swap(held[random() % held.size()], held.back());
          const auto [data, bytes] = held.back();
          held.pop_back();
          EXPECT_EQ(data[0], std::byte(t + 1));
          EXPECT_EQ(data[bytes - 1], std::byte(t + 1));
          pool.give(data, bytes);
        }
      }
      for (const auto& [data, bytes] : held) pool.give(data, bytes);
    });
  for (std::thread& thread : threads) thread.join();
  const MemoryStats stats = pool.stats();
  EXPECT_EQ(stats.in_use, 0);
  EXPECT_EQ(stats.allocations, stats.frees);
  pool.trim();
  EXPECT_EQ(pool.stats().reserved, 0);  // every segment had grown together again
}

TEST(MemoryPool, TheDefaultPools) {
  EXPECT_EQ(default_allocator(Device::cpu), default_pool(Device::cpu));
  EXPECT_EQ(default_pool(Device::null)->device(), Device::null);
  EXPECT_EQ(default_pool(Device::cuda)->device(), Device::cuda);  // takes nothing yet
}

TEST(MemoryPool, OutlivesTensorsInGlobals) {
  const auto leave = [] {
    static const Tensor global = Tensor::of<float>({1, 2, 3}, {3});  // destroyed by exit()
    std::exit(global.size(0) == 3 ? 0 : 1);
  };
  EXPECT_EXIT(leave(), testing::ExitedWithCode(0), "");
}

TEST(Bytes, AreReadAsPeopleWriteThem) {
  EXPECT_EQ(parse_bytes("1"), 1);
  EXPECT_EQ(parse_bytes("4096B"), 4096);
  EXPECT_EQ(parse_bytes("300MiB"), 300 << 20);
  EXPECT_EQ(parse_bytes("1.5 GiB"), 3 << 29);
  EXPECT_EQ(parse_bytes("2GB"), 2'000'000'000);
  EXPECT_EQ(parse_bytes("0.5kB"), 500);
  for (const char* bad : {"", "0", "0MiB", "-1", "-1MiB", "1e3", "MiB", "1 mib", "1MiBs", "nan",
                          "inf", "9999999TiB", "0.0001", "12 34", "0x10"})
    EXPECT_THROW(parse_bytes(bad), ValueError) << bad;
  EXPECT_EQ(error_of<ValueError>([] { parse_bytes("3 apples"); }),
            "bytes: not a size: \"3 apples\". Write a number and a unit, as in 300MiB or 1.5GB.");
}

}  // namespace
}  // namespace plimsoll
