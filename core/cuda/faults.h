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

}  // namespace plimsoll::cuda
