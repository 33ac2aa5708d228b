// Chapter 9: a pool that fragments, a limit that is exact, and the error that says what would fit.
#include "memory/pool/pooled_allocator.h"

#include <cstdio>
#include <cstring>
#include <memory>

#include "examples/tour/net.h"
#include "examples/tour/tour.h"
#include "memory/step/step.h"

namespace plimsoll::tour {
namespace {

constexpr int64_t kBlock = int64_t{256} << 10;

// A pool of addresses without bytes, and what lies where in it: one letter for each 256 KiB.
class Picture {
 public:
  void take(char name, int blocks) {
    held_.push_back({name, blocks * kBlock,
                     static_cast<std::byte*>(
                         pool_.allocate(blocks * kBlock, MemoryClass::activation, "tour"))});
  }
  void give_back(const char* names) {
    std::erase_if(held_, [&](const Held& held) {
      const bool goes = std::strchr(names, held.name) != nullptr;
      if (goes) pool_.deallocate(held.data, held.bytes, MemoryClass::activation);
      return goes;
    });
  }
  void trim() { pool_.trim(); }

  void print(const char* what) const {
    const MemoryStats stats = pool_.stats();
    std::string field;
    for (const auto& [data, bytes] : segments()) {
      std::string segment(static_cast<size_t>(bytes / kBlock), '.');
      for (const Held& held : held_)
        if (held.data >= data && held.data < data + bytes)
          std::memset(&segment[static_cast<size_t>((held.data - data) / kBlock)], held.name,
                      static_cast<size_t>(held.bytes / kBlock));
      field += "[" + segment + "]";
    }
    std::printf("%-20s %-22s %7.0f %9.0f %9.0f %7.0f %%\n", what, field.c_str(), kib(stats.in_use),
                kib(stats.reserved), kib(stats.largest_free), 100 * stats.fragmentation);
  }

 private:
  struct Held {
    char name;
    int64_t bytes;
    std::byte* data;
  };
  // Those taken from the provider and not given back, in the order in which they were taken.
  std::vector<std::pair<const std::byte*, int64_t>> segments() const {
    std::vector<std::pair<const std::byte*, int64_t>> all;
    for (const MemoryEvent& event : pool_.history()) {
      if (event.kind == MemoryEvent::Kind::segment_allocate)
        all.emplace_back(event.address, event.bytes);
      if (event.kind == MemoryEvent::Kind::segment_free)
        std::erase_if(all, [&](const auto& s) { return s.first == event.address; });
    }
    return all;
  }

  struct Recorded : PooledAllocator {
    Recorded() : PooledAllocator(null_provider()) { keep_history(1000); }
  } pool_;
  std::vector<Held> held_;
};

void print_fragments() {
  Picture picture;
  std::printf("%-20s %-22s %7s %9s %9s %9s\n", "", "", "in use", "reserved", "largest", "fragmen-");
  std::printf("%-20s %-22s %7s %9s %9s %9s\n", "", "", "", "", "free", "tation");
  for (const char name : {'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'}) picture.take(name, 1);
  picture.print("eight of 256 KiB");
  picture.give_back("bdf");
  picture.print("b, d and f go");
  picture.take('i', 2);
  picture.print("one of 512 KiB comes");
  picture.give_back("c");
  picture.print("c goes");
  picture.take('j', 2);
  picture.print("another of 512 KiB");
  picture.give_back("i");
  picture.print("i goes");
  picture.trim();
  picture.print("trim()");
}

// One step in a pool with a limit; what it says when that is too little.
std::string run_within(int64_t limit, bool captured) {
  const auto pool = std::make_shared<PooledAllocator>(host_provider(), limit);
  const AllocatorScope scope(pool);
  try {
    Training training({.layers = 4});
    const Batch batch = make_batch(1024);
    if (captured) {
      Step step(training.function());
      step(batch.x, batch.y);
    } else {
      training(batch.x, batch.y);
    }
    return "runs";
  } catch (const OutOfMemory& e) {
    return wrapped(e.what());
  }
}

}  // namespace

void print_pool() {
  print_fragments();
  Training training({.layers = 4});
  const int64_t planned = Step(training.function()).plan(inputs_of(1024)).total_bytes();
  std::printf("\na captured step is planned to take %lld bytes\n", static_cast<long long>(planned));
  std::printf("in a pool of as many: %s\n", run_within(planned, true).c_str());
  std::printf("in a pool of 64 less:\n%s\n", run_within(planned - kGranule, true).c_str());
  std::printf("\neagerly, in a pool of the planned bytes:\n%s\n",
              run_within(planned, false).c_str());
}

}  // namespace plimsoll::tour
