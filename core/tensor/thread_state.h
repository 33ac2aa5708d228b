// ThreadState: all that differs from thread to thread in the engine. Each field belongs to a scope
// object, which puts back what was there before: captures do not nest, and casts are forgotten
// where any scope of them ends. Whatever else is thread_local is scratch memory of kernels, and
// streams and their device in the CUDA half.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/cast_rule.h"
#include "core/tensor/allocator.h"

namespace plimsoll {

class Ranks;
class Tensor;
class Trace;
struct CastCache;

// Core has no cast of its own: autocast puts this function into the mode.
using InputCasts = std::vector<Tensor> (*)(CastRule, std::span<const Tensor> inputs);

// How apply() behaves on this thread.
struct ApplyMode {
  bool record = true;          // make nodes where a gradient is wanted (NoGrad turns it off)
  bool recomputing = false;    // a checkpoint runs again: ops that mutate were done the first time
  bool check_finite = false;   // look at what ops write: NumericError, but for FirstNonfinite
  InputCasts casts = nullptr;  // autocast: what inputs pass through first; nullptr: it is off
  DType low = DType::f32;      // and the 16-bit type it casts to
};
struct ThreadState {
  // AllocatorScope. One for each device; null: that of the process.
  std::array<std::shared_ptr<Allocator>, 3> allocators;
  MemoryClass memory_class = MemoryClass::activation;  // MemoryScope: of new blocks
  ApplyMode mode;                                      // ApplyModeScope, NoGrad, Autocast
  Trace* trace = nullptr;                              // capture(); nullptr: eager
  const std::string* module = nullptr;                 // ModuleScope; nullptr: outside of modules
  std::string* first_nonfinite = nullptr;              // FirstNonfinite; nullptr: the op throws
  std::shared_ptr<CastCache> casts;                    // Autocast: those made in its scope
  Ranks* ranks = nullptr;                              // RanksScope; nullptr: it works alone
};
ThreadState& thread_state();

}  // namespace plimsoll
