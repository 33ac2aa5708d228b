// The constants of top_k, and its order of elements.
#pragma once

#include "core/base/shape.h"
#include "ops/indexing/top_k/top_k.h"

namespace plimsoll {

struct TopKAttrs {
  int64_t k;
  int axis;
  Order order;
  bool operator==(const TopKAttrs&) const = default;
};

// NaN is the largest.
template <class C>
constexpr bool larger(C a, C b) {
  return a > b || (a != a && b == b);
}

// Does element i, of value a, come before element j of value b?
template <class C>
constexpr bool comes_before(Order order, C a, int64_t i, C b, int64_t j) {
  if (larger(a, b)) return order == Order::largest;
  if (larger(b, a)) return order == Order::smallest;
  return i < j;
}

}  // namespace plimsoll
