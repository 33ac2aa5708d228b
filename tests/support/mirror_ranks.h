// MirrorRanks: this rank among others that hold exactly what it holds, so that collectives can be
// tried alone: what comes from another rank is what this one would have sent in its place.
//
//   stand_before_mirror();                            // from here on, on this thread: 3 ranks
//   all_gather(x)                                     // x three times
#pragma once

#include "core/base/error.h"
#include "core/cuda/seam/cuda.h"
#include "core/ranks/ranks.h"
#include "core/tensor/thread_state.h"

namespace plimsoll {

class MirrorRanks : public Ranks {
 public:
  MirrorRanks(int64_t rank, int64_t size) : rank_(rank), size_(size) {}
  int64_t rank() const override { return rank_; }
  int64_t size() const override { return size_; }
  int64_t local_size() const override { return size_; }

  Ticket start(const Collective& collective) override {
    const auto& [kind, from, to, bytes, root, device] = collective;
    if (kind == Collective::Kind::broadcast || bytes == 0) return 0;
    const auto* part = static_cast<const std::byte*>(from);
    if (kind == Collective::Kind::all_to_all) part += rank_ * bytes;
    for (int64_t r = 0; r < size_; ++r)
      if (auto* const place = static_cast<std::byte*>(to) + r * bytes; place != part)
        copy_bytes(place, device, part, device, bytes);
    return 0;
  }
  void wait(Ticket) override {}
  void wait_all() override {}
  [[noreturn]] void abort(int, const std::string& sentence) override { fail<StateError>(sentence); }

 private:
  int64_t rank_, size_;
};

// For the rest of this thread, which has nothing else in mind: the op suites.
constexpr int64_t kMirrored = 3, kMirror = 1;
inline void stand_before_mirror() {
  static MirrorRanks ranks(kMirror, kMirrored);
  thread_state().ranks = &ranks;
}

}  // namespace plimsoll
