// Who makes and reads the buffers of a Program, for passes that leave some of them out.
#pragma once

#include <vector>

#include "core/engine/program.h"

namespace plimsoll {

struct Uses {
  struct Read {
    int instruction, input;
  };
  explicit Uses(const Program& program)
      : maker(program.buffers.size(), -1),
        reads(program.buffers.size()),
        is_result(program.buffers.size()) {
    for (int i = 0; i < std::ssize(program.instructions); ++i) {
      const Instruction& instruction = program.instructions[i];
      for (const Operand& out : instruction.out) maker[out.buffer] = i;
      for (int k = 0; k < std::ssize(instruction.in); ++k)
        reads[instruction.in[k].buffer].push_back({i, k});
    }
    for (const Operand& result : program.results) is_result[result.buffer] = true;
  }

  // By buffer: the instruction that has it as an output (-1: none), those that read or write it as
  // an input, in order, and whether it is a result.
  std::vector<int> maker;
  std::vector<std::vector<Read>> reads;
  std::vector<bool> is_result;
};

// The instruction that makes the operand whole, for one reader alone; -1: there is none.
inline int maker_for_one(const Uses& uses, const Program& program, const Operand& operand) {
  const int i = uses.maker[operand.buffer];
  const bool alone = i >= 0 && uses.reads[operand.buffer].size() == 1;
  return alone && !uses.is_result[operand.buffer] && program.instructions[i].out[0] == operand ? i
                                                                                               : -1;
}

// Whether what is in a buffer behind instruction `from` is still there at `to`.
inline bool stays(const Program& program, const Uses& uses, int buffer, int from, int to) {
  for (const auto [i, k] : uses.reads[buffer])
    if (from < i && i < to && has(program.instructions[i].op->mutates, k)) return false;
  return true;
}

// Takes the instructions out for which `gone` is true.
inline void erase(Program& program, const std::vector<bool>& gone) {
  size_t i = 0;
  std::erase_if(program.instructions, [&](const Instruction&) { return gone[i++]; });
}

}  // namespace plimsoll
