// A fused instruction as a kernel of a GPU: one thread takes a few neighbouring elements through
// all members, and what they hand on to each other stays in its registers. With an op over rows
// among the members, it takes a few elements of a row, and its block the row.
//
//   add_kernel(fused);
//   fused.kernel->text    // C++, in the terms of ops/element.cuh and ops/element_rows.cuh
#pragma once

#include "core/generated.h"
#include "memory/fusion/fused.h"

namespace plimsoll::fusion {

// What the kernel does, as text, and attributes that it is given as arguments instead: those of ops
// with inputs in OpDef::whole. (Dropout has another number in every layer.)
struct KernelText {
  std::string body;
  std::vector<uint64_t> words;
  int threads = 0;  // of a block that takes a row; 0: there are no rows
};

// A function of nothing but what is fused.
KernelText kernel_text(const Fused& fused);

// Sets kernel and words: there is one kernel for each text, for ever. Every member has OpDef::code,
// and only ops over rows have more than one output.
void add_kernel(Fused& fused);

// Elements that a thread takes at once where they lie on the boundaries of packs and there are no
// ops over rows.
int together(const Fused& fused);

// Runs the kernel of call.attrs: the OpDef::cuda of fused instructions.
void run_generated(const Call& call);

}  // namespace plimsoll::fusion
