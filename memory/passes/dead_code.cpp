#include "memory/passes/dead_code.h"

#include <algorithm>

#include "memory/passes/uses.h"

namespace plimsoll {
namespace {

// Calls f(operand) for every operand of the program.
template <class F>
void for_each_operand(Program& program, F&& f) {
  const auto visit = [&](std::vector<Operand>& operands) { std::ranges::for_each(operands, f); };
  visit(program.inputs);
  for (Instruction& instruction : program.instructions) {
    visit(instruction.in);
    visit(instruction.out);
  }
  visit(program.results);
}

// Backwards: an instruction is wanted when it mutates or when something after it reads an output.
std::vector<bool> wanted_instructions(const Program& program) {
  std::vector<bool> used(program.buffers.size());
  for (const Operand& result : program.results) used[result.buffer] = true;
  std::vector<bool> wanted(program.instructions.size());
  for (size_t i = wanted.size(); i-- > 0;) {
    const Instruction& instruction = program.instructions[i];
    wanted[i] = instruction.op->mutates ||
                std::ranges::any_of(instruction.out, [&](const auto& o) { return used[o.buffer]; });
    if (!wanted[i]) continue;
    for (const Operand& operand : instruction.in) used[operand.buffer] = true;
  }
  return wanted;
}

void remove_unused_buffers(Program& program) {
  std::vector<int> number(program.buffers.size(), -1);
  for_each_operand(program, [&](const Operand& operand) { number[operand.buffer] = 0; });
  std::vector<Buffer> kept;
  for (size_t b = 0; b < number.size(); ++b) {
    if (number[b] < 0) continue;
    number[b] = static_cast<int>(kept.size());
    kept.push_back(std::move(program.buffers[b]));
  }
  program.buffers = std::move(kept);
  for_each_operand(program, [&](Operand& operand) { operand.buffer = number[operand.buffer]; });
}

}  // namespace

Program remove_dead(Program program) {
  std::vector<bool> gone = wanted_instructions(program);
  gone.flip();
  erase(program, gone);
  remove_unused_buffers(program);
  return program;
}

}  // namespace plimsoll
