#include "memory/passes/widen_late.h"

#include <algorithm>

#include "memory/passes/uses.h"

namespace plimsoll {
namespace {

bool is_widening(const Program& program, const Instruction& instruction) {
  constexpr int64_t kBytes = 2;  // only f16 and bf16 have as many
  if (!instruction.op->casts || size_of(instruction.in[0].meta.dtype) != kBytes) return false;
  const Meta& to = instruction.out[0].meta;
  return to.dtype == DType::f32 && bytes_of(to) == program.buffers[instruction.out[0].buffer].bytes;
}

}  // namespace

Program widen_late(Program program) {
  const Uses uses(program);
  std::vector<bool> gone(program.instructions.size());
  for (int i = 0; i < std::ssize(gone); ++i) {
    const Instruction& cast = program.instructions[i];
    if (!is_widening(program, cast)) continue;
    const Operand &from = cast.in[0], &to = cast.out[0];
    const std::vector<Uses::Read>& reads = uses.reads[to.buffer];
    const bool late = std::ranges::all_of(reads, [&](const Uses::Read& read) {
      const Instruction& reader = program.instructions[read.instruction];
      return has(reader.op->widens, read.input) &&
             is_row_major(reader.in[read.input].meta.shape, reader.in[read.input].strides);
    });
    if (!late || reads.empty() || uses.is_result[to.buffer] ||
        !stays(program, uses, from.buffer, i, reads.back().instruction))
      continue;
    for (const auto [reader, input] : reads) {
      Operand& operand = program.instructions[reader].in[input];
      operand.buffer = from.buffer;
      operand.meta.dtype = from.meta.dtype;
      operand.offset += from.offset;
    }
    Buffer& gradient = program.buffers[from.buffer];
    if (gradient.memory_class == MemoryClass::activation)
      gradient.memory_class = program.buffers[to.buffer].memory_class;
    gone[i] = true;
  }
  erase(program, gone);
  return program;
}

}  // namespace plimsoll
