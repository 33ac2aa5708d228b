// In-place folding: y = relu(x) may write y over x when nobody needs x any more. The kernel does
// not notice; the arena saves one buffer at each such instruction.
//
//   auto lives = lifetimes(program);
//   auto home = fold_in_place(program, lives);
//   home[y] == x                       // y lies where x lay
#pragma once

#include "memory/lifetimes.h"

namespace plimsoll {

// For each buffer the buffer at whose address it lies: itself, unless it takes over the memory of
// an input, which may itself have taken over, and so on. Output 0 takes over the input named by
// OpDef::inplace when that input
//   - is a temporary whose last use this is, and no other operand of the instruction looks into it;
//   - is the whole buffer in row-major order, with the same number of elements of the same size as
//     the output, so that each element is overwritten by its own result.
// `lives` is updated: what is taken over ends where its successor begins, so the lifetimes of all
// buffers with one home never overlap.
std::vector<int> fold_in_place(const Program& program, std::vector<Lifetime>& lives);

}  // namespace plimsoll
