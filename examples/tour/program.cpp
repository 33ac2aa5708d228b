// Chapter 4: a whole training step as one straight line of instructions.
#include <cstdio>
#include <memory>

#include "examples/tour/net.h"
#include "examples/tour/tour.h"
#include "memory/pool/pooled_allocator.h"
#include "memory/step/passes.h"

namespace plimsoll::tour {
namespace {

// i: given at each run; p: exists outside, such as a parameter; t: made and used up inside.
std::string name_of(const Program& program, const Operand& operand) {
  constexpr const char* kinds[] = {"i", "p", "t"};
  return cat(kinds[static_cast<int>(program.buffers[operand.buffer].kind)], operand.buffer);
}

std::string names_of(const Program& program, const std::vector<Operand>& operands) {
  std::string text;
  for (const Operand& operand : operands)
    text += cat(text.empty() ? "" : " ", name_of(program, operand));
  return text;
}

// What an instruction writes in place, as OpDef::mutates says.
std::string changed_by(const Program& program, const Instruction& instruction) {
  std::string text;
  for (size_t i = 0; i < instruction.in.size(); ++i)
    if (has(instruction.op->mutates, static_cast<int>(i)))
      text += cat(text.empty() ? "" : " ", name_of(program, instruction.in[i]));
  return text;
}

}  // namespace

void print_program() {
  Training training({.layers = 2});
  const auto pool = std::make_shared<PooledAllocator>(host_provider());
  const AllocatorScope scope(pool);  // from here on it counts what is taken
  const Program program = plan_step(capture_live(training.function(), inputs_of(64)), {}).program;
  std::printf("     op                  reads                    writes   changes\n");
  for (size_t i = 0; i < program.instructions.size(); ++i) {
    const Instruction& instruction = program.instructions[i];
    std::printf("%3zu  %-18s  %-23s  %-7s  %s\n", i, instruction.op->name,
                names_of(program, instruction.in).c_str(),
                names_of(program, instruction.out).c_str(),
                changed_by(program, instruction).c_str());
  }
  std::printf("result: %s\n", names_of(program, program.results).c_str());
  std::printf("blocks of memory taken for all this: %lld\n",
              static_cast<long long>(pool->stats().allocations));
}

}  // namespace plimsoll::tour
