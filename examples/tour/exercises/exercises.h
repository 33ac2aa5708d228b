// The exercises of docs/tour/exercises.md: three functions to write, and what checks them. The
// files softsign.cpp, placement.cpp and policy.cpp of this folder are yours;
// examples/tour/solutions has one way to write each.
//
//   cmake --build build --target exercise && build/bin/exercise 1
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/tensor/tensor.h"
#include "memory/layout/offsets.h"
#include "memory/recompute/simulate.h"

namespace plimsoll::exercises {

// 1. y = x / (1 + |x|), any shape, floating types.
Tensor softsign(const Tensor& x);

// 2. An offset for each box, such that no two that are alive together share a byte.
std::vector<int64_t> place_boxes(std::span<const Box> boxes);

// 3. What happens in each gap, so that the peak is at most `budget`.
recompute::Choices choose(const recompute::Timeline& timeline, int64_t budget);

// What a check found. `text` says why it is not solved, or how good it is.
struct Verdict {
  bool solved;
  std::string text;
};
Verdict check_softsign();
Verdict check_placement();
Verdict check_policy();

}  // namespace plimsoll::exercises
