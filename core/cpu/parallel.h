// parallel_for: splits a range over the CPU's threads.
//
//   parallel_for(rows, 64, [&](int64_t begin, int64_t end) { ... rows begin..end-1 ... });
//
// The range is cut into pieces of `grain` (the last may be shorter) whatever the number of threads:
// piece number begin / grain always covers the same elements. A kernel that keeps one partial
// result per piece and adds them up in order therefore gives the same bits on any machine.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "core/cpu/threads.h"

namespace plimsoll {

inline int64_t pieces(int64_t n, int64_t grain) { return (n + grain - 1) / grain; }

namespace detail {
// Only tests change it, by a PieceScope (tests/suites/suite.h), so that their small tensors are cut
// into many pieces as well.
inline int64_t piece_elements = 16384;
}  // namespace detail

// A grain from the size of the work: `cost` is roughly the number of elements touched per index;
// pieces of about 16,000 elements outweigh the cost of a dispatch.
inline int64_t grain_for(int64_t cost) {
  return std::max<int64_t>(1, detail::piece_elements / std::max<int64_t>(1, cost));
}

namespace detail {
using Body = void (*)(const void* context, int64_t begin, int64_t end);
void parallel_for(int64_t n, int64_t grain, Body body, const void* context);
}  // namespace detail

// Runs f(begin, end) on every piece. Called from inside a piece it runs on that thread alone. The
// exception of the first piece that throws is rethrown once all threads have stopped.
template <class F>
void parallel_for(int64_t n, int64_t grain, const F& f) {
  detail::parallel_for(
      n, grain,
      [](const void* context, int64_t begin, int64_t end) {
        (*static_cast<const F*>(context))(begin, end);
      },
      &f);
}

}  // namespace plimsoll
