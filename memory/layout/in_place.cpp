#include "memory/layout/in_place.h"

#include <algorithm>
#include <numeric>

namespace plimsoll {

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
  std::vector<int> home(program.buffers.size());
  std::iota(home.begin(), home.end(), 0);
  for (int i = 0; i < static_cast<int>(program.instructions.size()); ++i) {
    const Instruction& instruction = program.instructions[i];
    if (!may_take_over(program, instruction)) continue;
    const int in = instruction.in[instruction.op->inplace].buffer;
    if (lives[in].end != i + 1) continue;
    home[instruction.out[0].buffer] = home[in];
    lives[in].end = i;
  }
  return home;
}

}  // namespace plimsoll
