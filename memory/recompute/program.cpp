#include "memory/recompute/program.h"

#include <algorithm>

#include "memory/layout/lifetimes.h"

namespace plimsoll::recompute {
namespace {

bool is_temporary(const Program& program, const Operand& operand) {
  return program.buffers[operand.buffer].kind == Buffer::Kind::temporary;
}

void read(const Program& program, const Operand& operand, Op& op) {
  if (is_temporary(program, operand) && !std::ranges::count(op.reads, operand.buffer))
    op.reads.push_back(operand.buffer);
}

// Who writes in place forbids what reads the same buffer to run again later, and what it writes to
// is no longer what its maker made.
void forbid_across_mutations(const Program& program, Problem& problem) {
  const int n = static_cast<int>(program.instructions.size());
  std::vector<int> next_write(program.buffers.size(), n + 1);
  for (int i = n; i-- > 0;) {
    const Instruction& instruction = program.instructions[i];
    for (size_t k = 0; k < instruction.in.size(); ++k) {
      const Operand& operand = instruction.in[k];
      if (!has(instruction.op->mutates, static_cast<int>(k))) continue;
      next_write[operand.buffer] = i;
      problem.storages[operand.buffer].evictable = false;
    }
    Op& op = problem.ops[i];
    const bool once = instruction.op->mutates ||
                      (instruction.op->collective && !gathers_parameters(program, instruction));
    op.repeatable_before = once ? 0 : n + 1;
    for (const Operand& operand : instruction.in)
      op.repeatable_before = std::min(op.repeatable_before, next_write[operand.buffer]);
  }
}

}  // namespace

Problem problem_of(const Program& program, std::span<const double> costs) {
  Problem problem;
  for (const Buffer& buffer : program.buffers)
    problem.storages.push_back(
        {.bytes = buffer.kind == Buffer::Kind::temporary ? block_bytes(buffer.bytes) : 0});
  for (size_t i = 0; i < program.instructions.size(); ++i) {
    const Instruction& instruction = program.instructions[i];
    Op op{.cost = costs[i], .workspace = block_bytes(instruction.workspace)};
    for (const Operand& operand : instruction.in) read(program, operand, op);
    for (const Operand& operand : instruction.out) op.writes.push_back(operand.buffer);
    if (may_take_over(program, instruction))
      op.takes_over = instruction.in[instruction.op->inplace].buffer;
    problem.ops.push_back(std::move(op));
  }
  problem.ops.push_back({.repeatable_before = 0});
  for (const Operand& operand : program.results) read(program, operand, problem.ops.back());
  forbid_across_mutations(program, problem);
  return problem;
}

Program rewrite(const Program& program, const Schedule& schedule) {
  Program result{.device = program.device,
                 .buffers = program.buffers,
                 .instructions = {},
                 .inputs = program.inputs,
                 .results = program.results};
  const int n = static_cast<int>(program.instructions.size());
  std::vector<int> current(program.buffers.size());  // where each buffer's contents are now
  for (size_t b = 0; b < current.size(); ++b) current[b] = static_cast<int>(b);
  for (const Run& run : schedule) {
    if (run.op == n) break;
    Instruction instruction = program.instructions[run.op];
    for (Operand& operand : instruction.in) operand.buffer = current[operand.buffer];
    for (Operand& operand : instruction.out) {
      const int original = operand.buffer;
      if (!run.again) continue;
      operand.buffer = static_cast<int>(result.buffers.size());
      result.buffers.push_back(program.buffers[original]);
      if (std::ranges::count(run.made, original)) current[original] = operand.buffer;
    }
    result.instructions.push_back(std::move(instruction));
  }
  for (Operand& operand : result.results) operand.buffer = current[operand.buffer];
  return result;
}

}  // namespace plimsoll::recompute
