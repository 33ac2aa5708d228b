// The words that the kernels of fused instructions are written in (source.cpp, source_rows.cpp).
#pragma once

#include "memory/fusion/source.h"

namespace plimsoll::fusion {

// "float": a type of elements.
const char* type_of(DType dtype);

// The function object of a member: "element::Binary<formulas::Add>{}". Its inputs in OpDef::whole
// follow its attributes, which then are arguments: they are added to `words`.
std::string object_of(const Member& member, std::vector<uint64_t>& words);

// What moves with the elements: neighbours lie side by side.
inline bool is_along(const Slice& slice) { return !slice.whole && slice.column_step == 1; }

// The kernel of a group with an op over rows: a block takes a row.
KernelText row_kernel_text(const Fused& fused);

}  // namespace plimsoll::fusion
