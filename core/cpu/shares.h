// Pieces of work that threads divide among themselves: each begins with a share of neighbouring
// ones and then helps the others with theirs ("affinity scheduling": Markatos, LeBlanc, "Using
// processor affinity in loop scheduling on shared-memory multiprocessors", 1992). So the part of a
// tensor that a thread writes in one op is the part that it reads in the next one, while that is
// still in its core's cache.
//
//   Shares shares(pieces, threads);
//   shares.work(thread, [&](int64_t piece) { ... });      // on each of the threads
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

namespace plimsoll {

class Shares {
 public:
  Shares(int64_t pieces, int64_t threads) : shares_(static_cast<size_t>(threads)) {
    for (int64_t t = 0; t < threads; ++t) {
      shares_[static_cast<size_t>(t)].next = pieces * t / threads;
      shares_[static_cast<size_t>(t)].end = pieces * (t + 1) / threads;
    }
  }

  // f(piece) for whatever no other call has taken, until nothing is left.
  template <class F>
  void work(int64_t thread, const F& f) {
    const size_t threads = shares_.size();
    for (size_t turn = 0; turn < threads; ++turn) {
      Share& share = shares_[(static_cast<size_t>(thread) + turn) % threads];
      for (int64_t piece; (piece = share.next++) < share.end;) f(piece);
    }
  }

 private:
  struct alignas(64) Share {  // a cache line, which only those who help touch too
    std::atomic<int64_t> next;
    int64_t end;
  };
  std::vector<Share> shares_;
};

}  // namespace plimsoll
