#include "memory/layout/memory_timeline.h"

#include <algorithm>
#include <unordered_map>

#include "memory/layout/lifetimes.h"

namespace plimsoll {
namespace {

// How each buffer looks to the first who names it: to its maker, where it has one.
std::vector<Meta> metas_of_buffers(const Program& program) {
  std::vector<Meta> metas(program.buffers.size());
  std::vector<bool> seen(program.buffers.size());
  const auto look = [&](const std::vector<Operand>& operands) {
    for (const Operand& operand : operands) {
      if (seen[operand.buffer]) continue;
      seen[operand.buffer] = true;
      metas[operand.buffer] = operand.meta;
    }
  };
  look(program.inputs);
  for (const Instruction& instruction : program.instructions) {
    look(instruction.in);
    look(instruction.out);
  }
  return metas;
}

// The module of the first instruction that names each buffer: of its maker, where it has one.
std::vector<ModuleName> modules_of_buffers(const Program& program) {
  std::vector<ModuleName> modules(program.buffers.size());
  std::vector<bool> seen(program.buffers.size());
  for (const Instruction& instruction : program.instructions)
    for (const auto* operands : {&instruction.in, &instruction.out})
      for (const Operand& operand : *operands) {
        if (!seen[operand.buffer]) modules[operand.buffer] = instruction.module;
        seen[operand.buffer] = true;
      }
  return modules;
}

// A wait names what its start has written.
std::vector<Flight> flights_of(const Program& program) {
  std::vector<Flight> flights;
  std::unordered_map<int, size_t> open;  // by the buffer that is received into
  for (int i = 0; const Instruction& instruction : program.instructions) {
    if (instruction.op->collective && instruction.op->collective->later) {
      open[instruction.out[0].buffer] = flights.size();
      flights.push_back({.begin = i, .bytes = bytes_of(instruction.out[0].meta)});
    } else if (instruction.op->collective && instruction.in.size() == 3) {
      if (const auto flight = open.find(instruction.in[1].buffer); flight != open.end())
        flights[flight->second].end = i + 1;
    }
    ++i;
  }
  return flights;
}

}  // namespace

MemoryTimeline make_timeline(const Program& program, const Plan& plan) {
  MemoryTimeline timeline;
  for (const Instruction& instruction : program.instructions)
    timeline.add(instruction.op->name, instruction.module);
  timeline.add("results", nullptr);
  const int instants = static_cast<int>(timeline.ops.size());
  timeline.live.resize(timeline.ops.size());
  timeline.flights = flights_of(program);

  const auto add = [&](const Rectangle& rectangle) {
    if (rectangle.bytes == 0 || rectangle.begin == rectangle.end) return;
    timeline.rectangles.push_back(rectangle);
    for (int i = rectangle.begin; i < rectangle.end; ++i)
      at(timeline.live[i], rectangle.memory_class) += rectangle.bytes;
  };
  std::vector<Lifetime> lives = lifetimes(program);
  fold_in_place(program, lives);  // what is taken over ends where its successor begins
  const std::vector<Meta> metas = metas_of_buffers(program);
  const std::vector<ModuleName> modules = modules_of_buffers(program);
  for (int b = 0; b < plan.buffers; ++b) {
    const Buffer& buffer = program.buffers[b];
    const bool temporary = buffer.kind == Buffer::Kind::temporary;
    add({.buffer = b,
         .offset = temporary ? plan.offsets[b] : Plan::kNowhere,
         .bytes = block_bytes(buffer.bytes),
         .begin = temporary ? lives[b].begin : 0,
         .end = temporary ? lives[b].end : instants,
         .meta = metas[b],
         .memory_class = buffer.memory_class,
         .module = modules[b]});
  }
  for (int i = 0; i < plan.instructions; ++i)
    if (const int64_t bytes = program.instructions[i].workspace; bytes > 0)
      add({.offset = plan.workspace_offsets[i],
           .bytes = block_bytes(bytes),
           .begin = i,
           .end = i + 1,
           .meta = {{bytes}, DType::u8, program.device},
           .memory_class = MemoryClass::workspace,
           .module = program.instructions[i].module});
  return timeline;
}

std::vector<int> largest_at(const MemoryTimeline& timeline, int instruction, size_t most) {
  std::vector<int> held;
  for (size_t r = 0; r < timeline.rectangles.size(); ++r)
    if (timeline.rectangles[r].lives_at(instruction)) held.push_back(static_cast<int>(r));
  std::ranges::stable_sort(held, std::greater(),
                           [&](int r) { return timeline.rectangles[r].bytes; });
  held.resize(std::min(most, held.size()));
  return held;
}

}  // namespace plimsoll
