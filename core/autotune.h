// Whether the algorithms of the vendor's libraries are chosen by timing them on the GPU that is
// there (docs/cuda.md), and between them and kernels of ours by timing both; or taken in an order
// that knows no clock: as the libraries propose them.
//
//   set_autotune(true);                // before the first step
#pragma once

namespace plimsoll {

// For all that is chosen from now on, in any thread; false at first. What was chosen stays, but for
// batch norms, which are done by kernels of ours while it is off. On the CPU there is nothing to
// choose.
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
