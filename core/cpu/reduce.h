// Sums and maxima of many numbers, in vectors of partial results that stay in registers. (An `omp
// simd reduction` of GCC keeps them in memory, where each step waits for the store of the last.)
//
//   const float dot = sum_of<float>(n, [&]<class V>(int64_t i) {
//     return load_as<V>(x + i) * load_as<V>(y + i);
//   });
//
// The function is called with V = Vector<T> for kLanes<T> numbers from number i on, and with V = T
// for one. The order of a sum depends on n alone.
#pragma once

#include <array>
#include <limits>
#include <utility>

#include "core/cpu/vector.h"

namespace plimsoll {

// Combines the lanes of v, halves with halves.
template <class T, size_t kDistance, class F, size_t... kLane>
T across_lanes(Vector<T> v, const F& combine, std::index_sequence<kLane...> lanes) {
  v = combine(v, __builtin_shufflevector(v, v, (kLane ^ kDistance)...));
  if constexpr (kDistance > 1)
    return across_lanes<T, kDistance / 2>(v, combine, lanes);
  else
    return v[0];
}

template <class T, size_t K, class F, class Combine>
std::array<T, K> reduce(int64_t n, T start, const F& f, const Combine& combine) {
  constexpr int64_t lanes = kLanes<T>;
  Vector<T> partial[K];
  for (auto& p : partial) p = Vector<T>{} + start;
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const std::array<Vector<T>, K> terms = f.template operator()<Vector<T>>(i);
    for (size_t k = 0; k < K; ++k) partial[k] = combine(partial[k], terms[k]);
  }
  std::array<T, K> result;
  for (size_t k = 0; k < K; ++k)
    result[k] = across_lanes<T, lanes / 2>(partial[k], combine, std::make_index_sequence<lanes>());
  for (; i < n; ++i) {
    const std::array<T, K> term = f.template operator()<T>(i);
    for (size_t k = 0; k < K; ++k) result[k] = combine(result[k], term[k]);
  }
  return result;
}

// K sums at once: f gives std::array<V, K>.
template <class T, size_t K, class F>
std::array<T, K> sums_of(int64_t n, const F& f) {
  return reduce<T, K>(n, T(0), f, [](auto a, auto b) { return a + b; });
}
template <class T, class F>
T sum_of(int64_t n, const F& f) {
  return sums_of<T, 1>(
      n, [&]<class V>(int64_t i) { return std::array<V, 1>{f.template operator()<V>(i)}; })[0];
}
// K maxima at once: -infinity for n = 0. A NaN is passed over.
template <class T, size_t K, class F>
std::array<T, K> maxima_of(int64_t n, const F& f) {
  return reduce<T, K>(n, -std::numeric_limits<T>::infinity(), f,
                      [](auto a, auto b) { return b > a ? b : a; });
}
template <class T, class F>
T max_of(int64_t n, const F& f) {
  return maxima_of<T, 1>(
      n, [&]<class V>(int64_t i) { return std::array<V, 1>{f.template operator()<V>(i)}; })[0];
}

}  // namespace plimsoll
