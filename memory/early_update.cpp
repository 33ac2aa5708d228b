#include "memory/early_update.h"

#include <algorithm>

namespace plimsoll {
namespace {

// The instruction that is the last of its kind so far to touch a buffer; -1: none.
struct Touched {
  int written = -1, read = -1;
};

}  // namespace

Program update_early(Program program) {
  const int n = static_cast<int>(program.instructions.size());
  std::vector<Touched> touched(program.buffers.size());
  // What runs right after each instruction, and (last) before all of them.
  std::vector<std::vector<int>> after(static_cast<size_t>(n) + 1);
  // An instruction that moved counts as part of the one it follows.
  for (int i = 0; i < n; ++i) {
    const Instruction& instruction = program.instructions[i];
    int earliest = -1;
    for (size_t k = 0; k < instruction.in.size(); ++k) {
      const Touched& last = touched[instruction.in[k].buffer];
      earliest = std::max(earliest, last.written);
      if (has(instruction.op->mutates, static_cast<int>(k)))
        earliest = std::max(earliest, last.read);
    }
    const int place = instruction.op->mutates ? earliest : i;
    if (instruction.op->mutates)
      after[place < 0 ? static_cast<size_t>(n) : static_cast<size_t>(place)].push_back(i);
    for (size_t k = 0; k < instruction.in.size(); ++k) {
      Touched& last = touched[instruction.in[k].buffer];
      int& moment = has(instruction.op->mutates, static_cast<int>(k)) ? last.written : last.read;
      moment = std::max(moment, place);
    }
    for (const Operand& out : instruction.out) touched[out.buffer].written = place;
  }
  std::vector<Instruction> order;
  const auto add = [&](int i) { order.push_back(std::move(program.instructions[i])); };
  for (const int i : after[n]) add(i);
  for (int i = 0; i < n; ++i) {
    if (!program.instructions[i].op->mutates) add(i);
    for (const int moved : after[i]) add(moved);
  }
  program.instructions = std::move(order);
  return program;
}

}  // namespace plimsoll
