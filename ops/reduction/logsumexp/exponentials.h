// What logsumexp and its gradient compute, for the kernels of all devices.
#pragma once

#include <cmath>
#include <limits>

#include "core/base/math.h"

namespace plimsoll {

template <class C>
constexpr C kLowest = -std::numeric_limits<C>::infinity();

// The largest of some x_j, and the sum of exp(x_j - largest).
template <class C>
struct Exponentials {
  C largest;
  double sum;
  constexpr C log() const { return static_cast<C>(static_cast<double>(largest) + std::log(sum)); }
};

// What to subtract from x_j: an infinite maximum must not be subtracted from itself.
template <class C>
constexpr C finite_or_zero(C m) {
  return m - m == 0 ? m : C(0);
}

// dx = dy exp(x - largest) / sum. A saved y could not take their place: rounded, to 16 bits above
// all, it is off by as much as the exponentials then are in proportion.
template <class C>
struct Share {
  C shift, factor;
  Share() = default;
  constexpr Share(C dy, const Exponentials<C>& e)
      : shift(e.largest == kLowest<C> ? C(0) : e.largest),
        factor(e.sum == 0 ? C(0) : static_cast<C>(static_cast<double>(dy) / e.sum)) {}
};

}  // namespace plimsoll
