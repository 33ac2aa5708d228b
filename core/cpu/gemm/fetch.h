// Memory that will be read soon is asked for before. A processor looks some hundred instructions
// ahead by itself: where a loop computes much for each element that is a few lines, and with
// operands from far away it waits most of the time (gelu's gradient: two thirds). For the operands
// that a product packs next, prefetch.h does so line by line.
//
//   in_runs(begin, end, [&](int64_t i, int64_t stop) { ... elements i to stop - 1 ... }, dy, x);
#pragma once

#include <algorithm>
#include <cstdint>

namespace plimsoll {

// Asks for n elements, `ahead` elements behind p. They need not be there: past the end of an array
// nothing happens.
template <class T>
void fetch(const T* p, int64_t ahead, int64_t n) {
  const auto first = reinterpret_cast<uintptr_t>(p) + static_cast<uintptr_t>(ahead) * sizeof(T);
  const auto bytes = static_cast<uintptr_t>(n) * sizeof(T);
  for (uintptr_t at = 0; at < bytes; at += 64)
    __builtin_prefetch(reinterpret_cast<const void*>(first + at));
}

// Asks for the row of n elements behind the one that begins at p, or for as much of it as can wait:
// more at once would keep others waiting.
template <class T>
void fetch_next_row(const T* p, int64_t n) {
  fetch(p, n, std::min<int64_t>(n, 4096 / sizeof(T)));
}

// Calls f for one short run of elements after the other, and before each of them asks for the next
// run of these arrays.
template <class F, class... T>
void in_runs(int64_t begin, int64_t end, const F& f, const T*... arrays) {
  constexpr int64_t run = 512 / std::max({sizeof(T)...});
  for (int64_t i = begin; i < end; i += run) {
    (fetch(arrays, i + run, run), ...);
    f(i, std::min(end, i + run));
  }
}

}  // namespace plimsoll
