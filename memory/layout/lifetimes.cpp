#include "memory/layout/lifetimes.h"

#include <algorithm>
#include <numeric>

namespace plimsoll {

std::vector<Lifetime> lifetimes(const Program& program) {
  std::vector<Lifetime> lives(program.buffers.size());
  const auto use = [&](const std::vector<Operand>& operands, int instant) {
    for (const Operand& operand : operands) {
      if (program.buffers[operand.buffer].kind != Buffer::Kind::temporary) continue;
      Lifetime& life = lives[operand.buffer];
      if (life.end == 0) life.begin = instant;
      life.end = instant + 1;
    }
  };
  const int n = static_cast<int>(program.instructions.size());
  for (int i = 0; i < n; ++i) {
    use(program.instructions[i].in, i);
    use(program.instructions[i].out, i);
  }
  use(program.results, n);
  return lives;
}

bool may_take_over(const Program& program, const Instruction& instruction) {
  if (instruction.op->inplace < 0 || instruction.out.empty()) return false;
  const Operand& in = instruction.in[instruction.op->inplace];
  const Operand& out = instruction.out[0];
  const Buffer& buffer = program.buffers[in.buffer];
  const auto looks_in = [&](const Operand& operand) { return operand.buffer == in.buffer; };
  return buffer.kind == Buffer::Kind::temporary &&
         std::ranges::count_if(instruction.in, looks_in) == 1 && in.offset == 0 &&
         is_row_major(in.meta.shape, in.strides) && bytes_of(in.meta) == buffer.bytes &&
         bytes_of(out.meta) == buffer.bytes && size_of(in.meta.dtype) == size_of(out.meta.dtype);
}

std::vector<int> fold_in_place(const Program& program, std::vector<Lifetime>& lives) {
  std::vector<int> alias_root(program.buffers.size());
  std::iota(alias_root.begin(), alias_root.end(), 0);
  for (int i = 0; i < static_cast<int>(program.instructions.size()); ++i) {
    const Instruction& instruction = program.instructions[i];
    if (!may_take_over(program, instruction)) continue;
    const int in = instruction.in[instruction.op->inplace].buffer;
    if (lives[in].end != i + 1) continue;
    alias_root[instruction.out[0].buffer] = alias_root[in];
    lives[in].end = i;
  }
  return alias_root;
}

}  // namespace plimsoll
