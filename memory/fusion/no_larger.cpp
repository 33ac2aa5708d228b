#include "memory/fusion/no_larger.h"

#include <algorithm>

#include "memory/dead_code.h"
#include "memory/early_update.h"
#include "memory/plan.h"

namespace plimsoll::fusion {
namespace {

// The rewrite to leave out where this instruction runs at the peak.
const Rewrite& at_fault(const Program& program, std::span<const Rewrite> rewrites,
                        const Instruction& peak) {
  const auto runs = std::ranges::find(rewrites, peak, &Rewrite::made);
  if (runs != rewrites.end()) return *runs;
  const auto place = std::ranges::find(program.instructions, peak) - program.instructions.begin();
  return *std::ranges::max_element(rewrites, {}, [&](const Rewrite& rewrite) {
    const int first = rewrite.members.front(), last = rewrite.members.back();
    return std::pair(first < place && place < last, last - first);
  });
}

}  // namespace

Program rewritten(const Program& program, std::span<const Rewrite> rewrites) {
  Program result = program;
  std::vector<bool> gone(program.instructions.size());
  for (const Rewrite& rewrite : rewrites) {
    for (const int member : rewrite.members) gone[member] = member != rewrite.place;
    result.instructions[rewrite.place] = rewrite.made;
  }
  size_t i = 0;
  std::erase_if(result.instructions, [&](const Instruction&) { return gone[i++]; });
  return result;
}

Program rewrite_no_larger(const Program& program,
                          const std::function<std::vector<Rewrite>(const LeftOut&)>& find) {
  std::vector<Rewrite> rewrites = find({});
  if (rewrites.empty()) return program;
  const int64_t most = make_plan(update_early(program)).arena_bytes;
  LeftOut left_out;
  std::vector<Members> again;
  while (!rewrites.empty()) {
    const Program ordered = update_early(rewritten(program, rewrites));
    const Plan plan = make_plan(ordered);
    if (plan.arena_bytes <= most) break;
    const Instruction& peak = ordered.instructions[plan.peak_instruction];
    again.push_back(at_fault(program, rewrites, peak).members);
    left_out.insert(again.back());
    rewrites = find(left_out);
  }
  if (!again.empty()) again.pop_back();  // with the last one it was too large just now
  for (const Members& members : again) {
    left_out.erase(members);
    std::vector<Rewrite> more = find(left_out);
    if (make_plan(update_early(rewritten(program, more))).arena_bytes <= most)
      rewrites = std::move(more);
    else
      left_out.insert(members);
  }
  return remove_dead(rewritten(program, rewrites));
}

}  // namespace plimsoll::fusion
