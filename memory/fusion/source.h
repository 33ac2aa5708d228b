// A fused instruction as a kernel of a GPU: one thread takes a few neighbouring elements through
// all members, and what they hand on to each other stays in its registers.
//
//   add_kernel(fused);
//   fused.kernel->text    // C++, in the terms of ops/element.cuh
#pragma once

#include "core/generated.h"
#include "memory/fusion/fused.h"

namespace plimsoll::fusion {

// What the kernel does, as text, and attributes that it is given as arguments instead: those of ops
// with inputs in OpDef::whole. (Dropout has another number in every layer.)
struct KernelText {
  std::string body;
  std::vector<uint64_t> words;
};

// A function of nothing but what is fused.
KernelText kernel_text(const Fused& fused);

// Sets kernel and words: there is one kernel for each text, for ever. Every member has OpDef::code
// and one output.
void add_kernel(Fused& fused);

// Elements that a thread takes at once where they lie on the boundaries of packs.
int together(const Fused& fused);

// Runs the kernel of call.attrs: the OpDef::cuda of fused instructions.
void run_generated(const Call& call);

}  // namespace plimsoll::fusion
