// A computed value as it is stored.
//
//   y[i] = narrow<BFloat16>(sum);
#pragma once

namespace plimsoll {

// A function, because a struct (f16, bf16) made in the body of a simd loop itself keeps GCC from
// vectorising the loop.
template <class To, class From>
To narrow(From x) {
  return static_cast<To>(x);
}

}  // namespace plimsoll
