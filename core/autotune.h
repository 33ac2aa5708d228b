// Whether the algorithms of the vendor's libraries are chosen by timing them on the GPU that is
// there (docs/cuda.md), or taken in the order in which the libraries propose them.
//
//   set_autotune(true);                // before the first step
#pragma once

namespace plimsoll {

// For all algorithms that are chosen from now on, in any thread; false at first. What was chosen
// stays. On the CPU there is nothing to choose.
void set_autotune(bool on);
bool autotune();

// On this thread nothing is timed until the scope ends: what runs has no operands that a step would
// have.
class NoAutotune {
 public:
  NoAutotune();
  ~NoAutotune();
  NoAutotune(const NoAutotune&) = delete;
  NoAutotune& operator=(const NoAutotune&) = delete;
};

}  // namespace plimsoll
