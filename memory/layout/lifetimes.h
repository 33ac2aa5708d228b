// Lifetimes: from when to when a buffer's bytes are needed.
//
//   y = relu(x)        instruction 0     y lives in [0, 2)
//   z = matmul(y, w)   instruction 1     z lives in [1, 3): it is the result
//   (results are copied out)     2
#pragma once

#include "core/engine/program.h"

namespace plimsoll {

// Half-open, counted in instructions; begin == end: never needed. An instruction's inputs and
// outputs are both alive while it runs.
struct Lifetime {
  int begin = 0, end = 0;
  bool contains(int instant) const { return begin <= instant && instant < end; }
  bool operator==(const Lifetime&) const = default;
};

// One per buffer: from its first use to its last. Only temporaries have one, because only they are
// placed. Copying the results out counts as one instruction more, after the last.
std::vector<Lifetime> lifetimes(const Program& program);

// ---- in-place folding
//
// y = relu(x) may write y over x when nobody needs x any more. The kernel does not notice; the
// arena saves one buffer at each such instruction.
//
//   auto lives = lifetimes(program);
//   auto alias_root = fold_in_place(program, lives);
//   alias_root[y] == x                 // y lies where x lay

// Whether output 0 could take over the memory of input OpDef::inplace, were it not needed any more:
// that is a whole temporary in row-major order that no other operand looks into, with as many
// elements of the same size.
bool may_take_over(const Program& program, const Instruction& instruction);

// The alias root of each buffer is the buffer at whose address it lies: itself, unless it takes
// over the memory of an input, which may itself have taken over, and so on. An output takes over
// where it may and this is the last use of the input, so that each element is overwritten by its
// own result. `lives` is updated: what is taken over ends where its successor begins, so the
// lifetimes of all buffers with one alias root never overlap.
std::vector<int> fold_in_place(const Program& program, std::vector<Lifetime>& lives);

}  // namespace plimsoll
