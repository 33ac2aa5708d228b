#include "memory/layout/plan.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "memory/layout/exact_offsets.h"
#include "memory/layout/lifetimes.h"

namespace plimsoll {
namespace {

// Effort for offsets where the greedy ones are above the bound: a decision takes time in proportion
// to the boxes, and fewer decisions than boxes lead nowhere. Some 10 ms, counted instead of timed:
// equal programs give equal plans.
constexpr int64_t kDecisionsTimesBoxes = 1'000'000;

void check_one_device(const Program& program) {
  const auto check_all = [&](const char* what, const std::vector<Operand>& operands) {
    for (const Operand& operand : operands)
      check<DeviceError>(operand.meta.device == program.device, "step: it works on ",
                         program.device, " but ", what, " has ", operand.meta,
                         ". Keep a step on one device.");
  };
  check_all("an input", program.inputs);
  for (const Instruction& instruction : program.instructions) {
    check_all(instruction.op->name, instruction.in);
    check_all(instruction.op->name, instruction.out);
  }
  check_all("a result", program.results);
}

// A span of time in which bytes are held for one class.
struct Holding {
  Box box;
  MemoryClass memory_class;
};

// All that is placed. Buffers with one alias root hold its bytes one after another.
std::vector<Holding> holdings(const Program& program, const std::vector<Lifetime>& lives) {
  std::vector<Holding> all;
  const auto hold = [&](int64_t bytes, int begin, int end, MemoryClass memory_class) {
    if (bytes > 0 && begin < end) all.push_back({{block_bytes(bytes), begin, end}, memory_class});
  };
  for (size_t b = 0; b < lives.size(); ++b)
    hold(program.buffers[b].bytes, lives[b].begin, lives[b].end, program.buffers[b].memory_class);
  for (int i = 0; i < static_cast<int>(program.instructions.size()); ++i)
    hold(program.instructions[i].workspace, i, i + 1, MemoryClass::workspace);
  return all;
}

// Places one box for each alias root, as long as all that lives there, then one for each workspace.
void place_in_arena(const Program& program, const std::vector<Lifetime>& lives,
                    const std::vector<int>& alias_root, Plan& plan) {
  std::vector<Box> boxes;
  std::vector<int> box_of(program.buffers.size(), -1);
  for (size_t b = 0; b < alias_root.size(); ++b) {
    const int64_t bytes = block_bytes(program.buffers[b].bytes);
    if (bytes == 0 || lives[b].end == 0) continue;
    int& box = box_of[alias_root[b]];
    if (box < 0) {
      box = static_cast<int>(boxes.size());
      boxes.push_back({bytes, lives[b].begin, lives[b].end});
    }
    boxes[box].begin = std::min(boxes[box].begin, lives[b].begin);
    boxes[box].end = std::max(boxes[box].end, lives[b].end);
  }
  const size_t workspaces = boxes.size();
  for (int i = 0; i < plan.instructions; ++i)
    if (const int64_t bytes = block_bytes(program.instructions[i].workspace); bytes > 0)
      boxes.push_back({bytes, i, i + 1});

  Packing packing = place(boxes);
  const int64_t decisions = kDecisionsTimesBoxes / std::max<int64_t>(1, std::ssize(boxes));
  if (packing.height > packing.lower_bound && decisions > std::ssize(boxes))
    packing = tighten(boxes, std::move(packing), {.decisions = decisions});
  plan.arena_bytes = packing.height;
  plan.lower_bound = packing.lower_bound;
  for (size_t b = 0; b < alias_root.size(); ++b) {
    const int box = box_of[alias_root[b]];
    plan.offsets.push_back(box < 0 ? Plan::kNowhere : packing.offsets[box]);
  }
  size_t next = workspaces;
  for (const Instruction& instruction : program.instructions)
    plan.workspace_offsets.push_back(instruction.workspace > 0 ? packing.offsets[next++]
                                                               : Plan::kNowhere);
}

// What is held when most is alive in the arena.
void describe_peak(const Program& program, const std::vector<Lifetime>& lives, Plan& plan) {
  const std::vector<Holding> all = holdings(program, lives);
  std::vector<Box> boxes;
  for (const Holding& holding : all) boxes.push_back(holding.box);
  plan.peak_instruction = live_peak(boxes).instant;
  if (plan.peak_instruction >= 0) {
    const Instruction& peak = program.instructions[plan.peak_instruction];
    plan.peak_op = with_module(peak.op->name, peak.module);
  }
  for (const auto& [box, memory_class] : all)
    if (box.begin <= plan.peak_instruction && plan.peak_instruction < box.end)
      at(plan.at_peak, memory_class) += box.bytes;
}

// A line of the table that Plan::print() shows.
std::string row(const char* name, int64_t bytes, int64_t total) {
  char text[80];
  std::snprintf(text, sizeof text, "  %-18s %12.3f MiB %6.1f %%\n", name,
                static_cast<double>(bytes) / (1 << 20),
                total ? 100.0 * static_cast<double>(bytes) / static_cast<double>(total) : 0.0);
  return text;
}

}  // namespace

int64_t result_bytes(const Program& program) {
  int64_t bytes = 0;
  for (const Operand& result : program.results) bytes += block_bytes(bytes_of(result.meta));
  return bytes;
}

Plan make_plan(const Program& program) {
  check_one_device(program);
  Plan plan;
  plan.instructions = static_cast<int>(program.instructions.size());
  plan.buffers = static_cast<int>(program.buffers.size());
  std::vector<Lifetime> lives = lifetimes(program);
  const std::vector<int> alias_root = fold_in_place(program, lives);
  for (int b = 0; b < plan.buffers; ++b) plan.in_place += alias_root[b] != b;

  place_in_arena(program, lives, alias_root, plan);
  describe_peak(program, lives, plan);
  for (const Buffer& buffer : program.buffers) {
    if (buffer.kind == Buffer::Kind::temporary) continue;
    const int64_t bytes = block_bytes(buffer.bytes);
    (buffer.kind == Buffer::Kind::input ? plan.input_bytes : plan.pinned_bytes) += bytes;
    at(plan.at_peak, buffer.memory_class) += bytes;
  }
  plan.result_bytes = result_bytes(program);
  return plan;
}

std::string Plan::text() const {
  std::string text = cat("plan: ", instructions, " instructions, ", buffers, " buffers, ", in_place,
                         " of them in place\n");
  for (int c = 0; c < kMemoryClasses; ++c)
    if (at_peak[c] > 0)
      text += row(name_of(static_cast<MemoryClass>(c)), at_peak[c], total_bytes());
  const int64_t used = std::accumulate(at_peak.begin(), at_peak.end(), result_bytes);
  if (total_bytes() > used) text += row("gaps", total_bytes() - used, total_bytes());
  if (result_bytes > 0) text += row("results", result_bytes, total_bytes());
  text += row("total", total_bytes(), total_bytes());
  text += cat("  arena ", arena_bytes, " bytes, lower bound ", lower_bound, "; total ",
              total_bytes(), " bytes\n");
  if (peak_instruction >= 0)
    text += cat("  most is alive at instruction ", peak_instruction, " (", peak_op, ")\n");
  if (recompute.budget > 0) {
    const auto share = [&](double seconds) {
      char percent[32];
      std::snprintf(percent, sizeof percent, "%.1f %%",
                    recompute.step_seconds > 0 ? 100 * seconds / recompute.step_seconds : 0.0);
      return std::string(percent);
    };
    text += cat("  budget ", recompute.budget, " bytes: ", recompute.repetitions,
                " instructions run again and take ", share(recompute.repeated_seconds),
                " of a step's time, in any plan within it at least ",
                share(recompute.least_repeated_seconds), "; the step takes ",
                share(recompute.added_seconds), " longer\n");
    if (recompute.larger_budget > 0)
      text += cat("  with ", recompute.larger_budget, " bytes it would take ",
                  share(recompute.larger_added_seconds), " longer\n");
    if (recompute.cores_of_others > 0)
      text += cat("  measured while other programs had ",
                  std::round(10 * recompute.cores_of_others) / 10, " cores\n");
  }
  return text;
}

void Plan::print() const { std::fputs(text().c_str(), stdout); }

}  // namespace plimsoll
