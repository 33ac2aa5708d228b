// PooledAllocator where the host has no memory for its bookkeeping: a program of its own, since
// operator new is replaced. Every allocation fails in turn; nothing may be lost.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>
#include <random>
#include <string_view>

#include "memory/pool/pooled_allocator.h"

namespace {

thread_local int64_t allowed = -1;  // allocations until one fails, and all after it; -1: none fails

void* take(size_t size) {
  if (allowed == 0) throw std::bad_alloc();
  if (allowed > 0) --allowed;
  if (void* data = std::malloc(size > 0 ? size : 1)) return data;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(size_t size) { return take(size); }
void operator delete(void* data) noexcept { std::free(data); }
void operator delete(void* data, size_t) noexcept { std::free(data); }

namespace plimsoll {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr auto kActivation = MemoryClass::activation;

// Until its end the host has memory for `allocations` more.
struct HostMemory {
  explicit HostMemory(int64_t allocations) { allowed = allocations; }
  ~HostMemory() { allowed = -1; }
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;
};

struct Outstanding {
  int64_t segments = 0, bytes = 0;
};

// Memory of the host, of which it knows how much is out.
Provider counted(Outstanding& out) {
  Provider host = host_provider();
  return {Device::cpu,
          [&out, acquire = host.acquire](int64_t bytes) {
            void* data = acquire(bytes);
            if (data) out = {out.segments + 1, out.bytes + bytes};
            return data;
          },
          [&out, release = host.release](void* data, int64_t bytes) {
            release(data, bytes);
            out = {out.segments - 1, out.bytes - bytes};
          },
          host.available};
}

void expect_unchanged(const MemoryStats& before, const MemoryStats& after) {
  EXPECT_EQ(after.in_use, before.in_use);
  EXPECT_EQ(after.by_class, before.by_class);
  EXPECT_EQ(after.allocations, before.allocations);
  EXPECT_EQ(after.frees, before.frees);
  EXPECT_EQ(after.peak.bytes, before.peak.bytes);
}

using Pool = PooledAllocator;
struct Situation {
  const char* name;
  int64_t limit;
  std::function<void(Pool&)> before;  // with all the memory it wants
  int64_t bytes;                      // is what allocate() is asked for then; 0: `call` is made
  std::function<void(Pool&)> call;
  bool cached = false;  // then nothing is needed, and nothing can fail
};

void cache(Pool& pool, int64_t bytes) {
  pool.deallocate(pool.allocate(bytes, kActivation, "test"), bytes, kActivation);
}

constexpr int64_t kHeld = kMiB + 64;  // in use all the while

const Situation kSituations[] = {
    {"a small block of a new segment", Pool::kUnlimited, [](Pool&) {}, 640, {}},
    {"a large block", Pool::kUnlimited, [](Pool&) {}, 3 * kMiB, {}},
    {"cut from a free block",
     Pool::kUnlimited,
     [](Pool& pool) { cache(pool, 4 * kMiB); },
     2 * kMiB,
     {}},
    {"a free block of its size",
     Pool::kUnlimited,
     [](Pool& pool) { cache(pool, 4 * kMiB); },
     4 * kMiB,
     {},
     true},
    {"a segment under a limit", 8 * kMiB, [](Pool&) {}, 640, {}},
    {"the cache goes back first",
     8 * kMiB,
     [](Pool& pool) {
       cache(pool, 3 * kMiB);
       cache(pool, 5 * kMiB);
     },
     4 * kMiB,
     {}},
    {"out of memory", 2 * kMiB, [](Pool&) {}, 2 * kMiB, {}},
    {"a region", Pool::kUnlimited, [](Pool&) {}, 0, [](Pool& pool) { PeakScope region(pool); }},
    {"history", Pool::kUnlimited, [](Pool&) {}, 0, [](Pool& pool) { pool.keep_history(100); }},
};

// What a call that met no memory leaves is what it found, and the call can be made again.
TEST(PoolFaults, EveryAllocationFailsInTurn) {
  for (const Situation& s : kSituations) {
    SCOPED_TRACE(s.name);
    int64_t failures = 0;
    for (bool done = false; !done; failures += !done) {
      ASSERT_LT(failures, 1000);
      Outstanding out;
      {
        Pool pool(counted(out), s.limit);
        void* const held = pool.allocate(kHeld, MemoryClass::parameter, "test");
        s.before(pool);
        const MemoryStats before = pool.stats();
        void* data = nullptr;
        const auto call = [&] {
          if (s.bytes > 0)
            data = pool.allocate(s.bytes, kActivation, "test");
          else
            s.call(pool);
        };
        try {
          const HostMemory memory(failures);
          call();
          done = true;
        } catch (const std::bad_alloc&) {
          done = false;
        } catch (const OutOfMemory&) {
          done = true;
        }
        if (!data) expect_unchanged(before, pool.stats());
        EXPECT_EQ(pool.stats().reserved, out.bytes);
        if (!done && std::string_view(s.name) != "out of memory") call();
        EXPECT_EQ(pool.stats().in_use, kHeld + (data ? s.bytes : 0));
        {
          const HostMemory none(0);
          pool.deallocate(data, s.bytes, kActivation);
          pool.deallocate(held, kHeld, MemoryClass::parameter);
          pool.trim();
        }
        EXPECT_EQ(pool.stats().in_use, 0);
        EXPECT_EQ(pool.stats().reserved, 0);
        EXPECT_EQ(out.bytes, 0);
      }
      EXPECT_EQ(out.segments, 0);
    }
    EXPECT_EQ(failures > 0, !s.cached);
  }
}

// Whatever was allocated before in whatever order, giving back needs no memory of the host, and
// blocks grow together all the same.
TEST(PoolFaults, GivingBackNeedsNoMemory) {
  for (const int64_t limit : {Pool::kUnlimited, 64 * kMiB}) {
    Outstanding out;
    Pool pool(counted(out), limit);
    std::mt19937 random(7);
    std::vector<std::pair<void*, int64_t>> held;
    held.reserve(100);
    int64_t in_use = 0, refused = 0;
    for (int k = 0; k < 20000; ++k) {
      if (held.size() < 100 && random() % 2) {
        const int64_t bytes =
            64 * (1 + static_cast<int64_t>(random() % (random() % 50 ? 500 : 20000)));
        try {
          const HostMemory memory(static_cast<int64_t>(random() % 3));
          held.emplace_back(pool.allocate(bytes, kActivation, "test"), bytes);
          in_use += bytes;
        } catch (const std::bad_alloc&) {
          ++refused;
        }
      } else if (!held.empty()) {
        std::swap(held[random() % held.size()], held.back());
        const auto [data, bytes] = held.back();
        held.pop_back();
        const HostMemory none(0);
        std::memset(data, 1, static_cast<size_t>(bytes));
        pool.deallocate(data, bytes, kActivation);
        in_use -= bytes;
      }
      ASSERT_EQ(pool.stats().in_use, in_use);
      ASSERT_EQ(pool.stats().reserved, out.bytes);
    }
    EXPECT_GT(refused, 500);
    const HostMemory none(0);
    for (const auto& [data, bytes] : held) pool.deallocate(data, bytes, kActivation);
    pool.trim();
    EXPECT_EQ(out.bytes, 0);
    EXPECT_EQ(pool.stats().reserved, 0);
  }
}

}  // namespace
}  // namespace plimsoll
