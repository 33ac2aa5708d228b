// The workspaces of a captured step, asked for all at once when its capture ends, and again where
// ops were replaced by others. On a GPU that is when the vendor's libraries choose and compile what
// will run (OpDef::workspace of a convolution asks cuDNN how much its plan needs), which takes
// long: different calls are asked about by several threads.
#pragma once

#include <span>

#include "core/program.h"

namespace plimsoll {

// Writes Instruction::workspace of all instructions. What an OpDef::workspace throws comes out.
void find_workspaces(Program& program);

// OpDef::workspace is told the shapes of a call. These are the strides of its inputs, on the thread
// on which it is asked; empty: dense.
std::span<const Strides> asked_strides();

// They are these until the scope ends.
class AskedStrides {
 public:
  explicit AskedStrides(std::span<const Strides> strides);
  ~AskedStrides();
  AskedStrides(const AskedStrides&) = delete;
  AskedStrides& operator=(const AskedStrides&) = delete;

 private:
  std::span<const Strides> previous_;
};

}  // namespace plimsoll
