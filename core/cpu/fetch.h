// Memory that will be read soon is asked for before. A processor looks some hundred instructions
// ahead by itself: where a loop computes much for each element that is a few lines, and with
// operands from far away it waits most of the time (gelu's gradient: 3 of 4 parts).
//
//   in_runs(begin, end, [&](int64_t i, int64_t stop) { ... elements i to stop - 1 ... }, dy, x);
#pragma once

#include <algorithm>
#include <cstdint>

namespace plimsoll {

// Asks for n elements. They need not be there: past the end of an array nothing happens.
template <class T>
void fetch(const T* from, int64_t n) {
  constexpr int64_t line = 64 / sizeof(T);
  for (int64_t i = 0; i < n; i += line) __builtin_prefetch(from + i);
}

// Calls f for one short run of elements after the other, and before each of them asks for the next
// run of these arrays.
template <class F, class... T>
void in_runs(int64_t begin, int64_t end, const F& f, const T*... arrays) {
  constexpr int64_t run = 512 / std::max({sizeof(T)...});
  for (int64_t i = begin; i < end; i += run) {
    (fetch(arrays + i + run, run), ...);
    f(i, std::min(end, i + run));
  }
}

}  // namespace plimsoll
