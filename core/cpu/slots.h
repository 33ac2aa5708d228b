// Work items that need scratch memory: one slot of it for every thread that works on them.
//
//   for_each_with_slot(tiles.count(), scratch, slot_bytes, [&](int64_t tile, std::byte* slot) { });
#pragma once

#include <span>

#include "core/base/error.h"
#include "core/cpu/parallel.h"
#include "core/cpu/shares.h"
#include "core/tensor/meta.h"

namespace plimsoll {

// Bytes to ask for: a slot for each thread, but no more than there are items.
inline int64_t slots_bytes(int64_t items, int64_t slot_bytes) {
  return std::clamp<int64_t>(items, 1, num_threads()) * block_bytes(slot_bytes);
}

// Runs f(item, slot) for every item, on as many threads as `scratch` has slots, whatever the number
// of threads was when its size was decided. The order of the items is not defined.
template <class F>
void for_each_with_slot(int64_t items, std::span<std::byte> scratch, int64_t slot_bytes,
                        const F& f) {
  const int64_t size = block_bytes(slot_bytes);
  const int64_t slots = size ? static_cast<int64_t>(scratch.size()) / size : 1;
  const int64_t threads = std::min(slots, items);
  check<ValueError>(slots >= 1 || items == 0, "for_each_with_slot: the scratch memory has ",
                    scratch.size(), " bytes where one slot takes ", size, ". Pass more.");
  Shares shares(items, threads);
  parallel_for(threads, 1, [&](int64_t begin, int64_t end) {
    for (int64_t slot = begin; slot < end; ++slot)
      shares.work(slot, [&](int64_t item) { f(item, scratch.data() + slot * size); });
  });
}

}  // namespace plimsoll
