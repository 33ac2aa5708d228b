// Errors that only a kernel can find, such as a label out of range. A kernel cannot throw: it notes
// the first bad position and goes on without harm; the host throws the next time it waits.
//
//   uint64_t* fault = fault_word(&throw_bad_label, classes);           // host
//   if (label < 0 || label >= classes) note_fault(fault, i, label);    // device
//
// The first position wins, whichever thread was faster: the same sentence in every run.
#pragma once

#include "core/cuda/runtime.h"

namespace plimsoll::cuda {

// Throws the sentence about the element at `position`, which holds `value`, where `limit` is what
// the host knew when it launched the kernel.
using ThrowFault = void (*)(int64_t position, int64_t value, int64_t limit);

// Where kernels note faults of this kind: one word of device memory that stays.
uint64_t* fault_word(ThrowFault throw_fault, int64_t limit);

// Reads all words, once the stream is idle, and throws the first fault that was noted. All are
// forgotten.
void throw_faults();

// The same without waiting now: queues a copy of all words to `pinned`, room for kMostFaults; once
// it is there, throw_copied() throws, unless what it holds was thrown and forgotten meanwhile. With
// it go the faults of its kind that are noted until then; others stay.
constexpr size_t kMostFaults = 4096;  // kinds in one process: few dozen in practice
struct CopiedFaults {
  size_t words = 0;
  int64_t forgotten = 0;  // how often, before
};
CopiedFaults copy_faults(uint64_t* pinned);
void throw_copied(const uint64_t* pinned, const CopiedFaults& copied);

}  // namespace plimsoll::cuda
