// The sums that a mean and a variance are made of, for reductions (ops/common/reduce_axes.cuh).
//
// One pass over x - shift, where shift is the first element: with it among those that are added up,
// the square of their mean is at most n times their variance, and so little is cancelled in f64.
// All equal elements give 0.
#pragma once

#include "core/cuda/elements.cuh"

namespace plimsoll::cuda {

template <class C>
struct Moments {
  struct State {
    double shift, sum, squares;
    __device__ double mean(int64_t n) const { return shift + sum / n; }
    // The sum of the squared deviations from it.
    __device__ double deviations(int64_t n) const {
      const double difference = n > 0 ? squares - sum * sum / n : 0;
      return difference < 0 ? 0 : difference;
    }
  };
  Elements<C> x;
  int64_t n;  // of each output
  __device__ State start(int64_t, int64_t first) const {
    return {n > 0 ? static_cast<double>(x.get(first)) : 0, 0, 0};
  }
  __device__ static void add(State& s, C value) {
    const double d = static_cast<double>(value) - s.shift;
    s.sum += d;
    s.squares += d * d;
  }
  __device__ void take(State& s, int64_t at, int64_t) const { add(s, x.get(at)); }
  __device__ void take_pack(State (&s)[kPack], int64_t, int64_t at, int64_t) const {
    C values[kPack];
    x.get(at, at + kPack, values);
    for (int j = 0; j < kPack; ++j) add(s[j], values[j]);
  }
  __device__ void join(State& s, const State& other) const {
    s.sum += other.sum;
    s.squares += other.squares;
  }
};

}  // namespace plimsoll::cuda
