// In which order the gradients of an input and of a weight are made.
#pragma once

#include "core/engine/backward.h"

namespace plimsoll {

// The smaller one of the two gradients first, as it is there while the other is made. A large batch
// so gives back its input before the input's gradient takes its place.
template <class MakeDx, class MakeDw>
void smaller_first(const Backward& b, const MakeDx& make_dx, const MakeDw& make_dw) {
  const bool dx_first = bytes_of(b.input_meta(0)) < bytes_of(b.input_meta(1));
  if (dx_first && b.needs(0)) make_dx();
  if (b.needs(1)) make_dw();
  if (!dx_first && b.needs(0)) make_dx();
}

}  // namespace plimsoll
