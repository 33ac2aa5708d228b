// Lifetimes: from when to when a buffer's bytes are needed.
//
//   y = relu(x)        instruction 0     y lives in [0, 2)
//   z = matmul(y, w)   instruction 1     z lives in [1, 3): it is the result
//   (results are copied out)     2
#pragma once

#include "core/engine/program.h"

namespace plimsoll {

// Half-open, counted in instructions; begin == end: never needed. An instruction's inputs and
// outputs are both alive while it runs.
struct Lifetime {
  int begin = 0, end = 0;
  bool contains(int instant) const { return begin <= instant && instant < end; }
  bool operator==(const Lifetime&) const = default;
};

// One per buffer: from its first use to its last. Only temporaries have one, because only they are
// placed. Copying the results out counts as one instruction more, after the last.
std::vector<Lifetime> lifetimes(const Program& program);

}  // namespace plimsoll
