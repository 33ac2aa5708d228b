// A sum of tensors with weights, one after another, for the ops that add up gradients.
//
//   const WeightedSum<C> sum{.weight = n, .adds = !first, .counts = n != 0};
//   sum.add(total, x, begin, end);                    // total = total + n x, of these elements
#pragma once

#include <algorithm>

#include "ops/common/widened.h"

namespace plimsoll {

template <class C>
struct WeightedSum {
  C weight, divisor = 1;
  bool adds;    // else the total so far counts as 0
  bool counts;  // else x does, even where it is NaN

  template <class X>
  void add(C* total, const X* x, int64_t begin, int64_t end) const {
    constexpr int64_t kRun = 1024;  // elements that are widened at a time
    C room[kRun];
    for (int64_t i = begin; i < end; i += kRun) {
      const int64_t n = std::min(kRun, end - i);
      add_run(total + i, widened(x + i, n, room), n);
    }
  }

 private:
  [[gnu::noinline]] void add_run(C* total, const C* x, int64_t n) const {
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) {
      const C product = weight * x[i], before = total[i];
      total[i] = ((adds ? before : C(0)) + (counts ? product : C(0))) / divisor;
    }
  }
};

}  // namespace plimsoll
