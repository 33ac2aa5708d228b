// What every generated kernel is called with. Kernels that are compiled at run time read this
// header too.
#pragma once

#include <cstdint>

namespace plimsoll {

struct KernelArguments {
  static constexpr int kMost = 96;
  void* at[kMost];  // the inputs, then the outputs
  // Bits of attributes that are not written into the kernel, so that ops that differ in them share
  // one.
  static constexpr int kMostWords = 32;
  uint64_t words[kMostWords];
  // How many packs of elements, from the first one on, are moved at once: 0 where an operand does
  // not lie on the boundary of a pack. Kernels of rows do not ask.
  int64_t packs;
  // Of a row, in kernels of rows: what the compiler knows, it divides by in its own way, and then
  // contracts other products and sums than those of the op by itself.
  int64_t columns;
  int64_t rows;  // in kernels whose blocks take them in turn
};

}  // namespace plimsoll
