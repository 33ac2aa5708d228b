// MemoryTimeline: what a planned step holds at each instruction, and where. A pure function of the
// Program and its Plan; pictures are drawn from it.
//
//   const MemoryTimeline timeline = make_timeline(program, plan);
//   timeline.live[plan.peak_instruction] == plan.at_peak
//   for (const Rectangle& r : timeline.rectangles)    // [r.begin, r.end) x [r.offset, + r.bytes)
#pragma once

#include "memory/layout/plan.h"

namespace plimsoll {

// What one buffer, or the scratch of one instruction, holds and from when to when.
struct Rectangle {
  static constexpr int kScratch = -1;

  int buffer = kScratch;   // of the program
  int64_t offset = 0;      // in the arena; Plan::kNowhere: outside of it
  int64_t bytes = 0;       // rounded up as planned
  int begin = 0, end = 0;  // instructions, half-open
  Meta meta{};             // as the buffer was made; of scratch: its bytes as u8
  MemoryClass memory_class = MemoryClass::activation;
  ModuleName module = nullptr;  // of its maker; outside of the arena, of its first reader

  bool lives_at(int instruction) const { return begin <= instruction && instruction < end; }
  bool in_arena() const { return offset != Plan::kNowhere; }
};

// Bytes on their way between ranks, from the instruction that starts them to the one that waits.
struct Flight {
  int begin = 0, end = 0;  // instructions, half-open
  int64_t bytes = 0;       // that arrive
  bool operator==(const Flight&) const = default;
};

struct MemoryTimeline {
  // The op of each instruction and its module; the last stands for the copying out of the results,
  // which counts as one instruction more.
  std::vector<const char*> ops;
  std::vector<ModuleName> modules;
  // The bytes held while each of them runs: pinned, inputs, and in the arena. Fresh results are
  // left out, as in Plan::at_peak.
  std::vector<BytesByClass> live;
  // Those of the arena never overlap; those outside, parameters and inputs, are there all the time.
  std::vector<Rectangle> rectangles;
  std::vector<Flight> flights;  // in the order of their start

  void add(const char* op, ModuleName module) {
    ops.push_back(op);
    modules.push_back(module);
  }
  std::string name(size_t instruction) const {  // "conv2d in module 0"
    return with_module(ops[instruction], modules[instruction]);
  }
};

// `plan` must be make_plan(program), or that of a BudgetPlanner beside its program.
MemoryTimeline make_timeline(const Program& program, const Plan& plan);

// Numbers of the rectangles that hold something while `instruction` runs, the largest first and at
// most `most` of them.
std::vector<int> largest_at(const MemoryTimeline& timeline, int instruction, size_t most);

}  // namespace plimsoll
