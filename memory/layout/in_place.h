// In-place folding: y = relu(x) may write y over x when nobody needs x any more. The kernel does
// not notice; the arena saves one buffer at each such instruction.
//
//   auto lives = lifetimes(program);
//   auto home = fold_in_place(program, lives);
//   home[y] == x                       // y lies where x lay
#pragma once

#include "memory/layout/lifetimes.h"

namespace plimsoll {

// Whether output 0 could take over the memory of input OpDef::inplace, were it not needed any more:
// that is a whole temporary in row-major order that no other operand looks into, with as many
// elements of the same size.
bool may_take_over(const Program& program, const Instruction& instruction);

// For each buffer the buffer at whose address it lies: itself, unless it takes over the memory of
// an input, which may itself have taken over, and so on. An output takes over where it may and this
// is the last use of the input, so that each element is overwritten by its own result.
// `lives` is updated: what is taken over ends where its successor begins, so the lifetimes of all
// buffers with one home never overlap.
std::vector<int> fold_in_place(const Program& program, std::vector<Lifetime>& lives);

}  // namespace plimsoll
