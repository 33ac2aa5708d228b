#include "memory/no_larger.h"

#include <algorithm>

#include "memory/dead_code.h"
#include "memory/early_update.h"
#include "memory/plan.h"

namespace plimsoll::fusion {
namespace {

// What is planned: the program as it will run, with the buffers of `program`.
Program in_order(Program program) {
  return update_early(remove_dead_instructions(std::move(program)));
}

// The rewrite to leave out where ordered[peak] runs at the peak.
const Rewrite& at_fault(const Program& program, std::span<const Rewrite> rewrites,
                        std::span<const Instruction> ordered, int peak) {
  const auto made = [&](const Instruction& instruction) {
    return std::ranges::find(rewrites, instruction, &Rewrite::made);
  };
  const auto at = ordered.begin() + peak;
  if (const auto runs = made(*at); runs != rewrites.end()) return *runs;
  // An update may come from far behind: what it runs before has stayed.
  auto stays = std::find_if(at, ordered.end(), [](const auto& i) { return !i.op->mutates; });
  if (stays == ordered.end()) stays = at;
  const auto next = made(*stays);
  const auto place = next != rewrites.end() ? next->place
                                            : std::ranges::find(program.instructions, *stays) -
                                                  program.instructions.begin();
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
  const int64_t most = make_plan(in_order(program)).arena_bytes;
  LeftOut left_out;
  std::vector<Members> again;
  while (!rewrites.empty()) {
    const Program ordered = in_order(rewritten(program, rewrites));
    const Plan plan = make_plan(ordered);
    if (plan.arena_bytes <= most) break;
    again.push_back(
        at_fault(program, rewrites, ordered.instructions, plan.peak_instruction).members);
    left_out.insert(again.back());
    rewrites = find(left_out);
  }
  if (!again.empty()) again.pop_back();  // with the last one it was too large just now
  for (const Members& members : again) {
    left_out.erase(members);
    std::vector<Rewrite> more = find(left_out);
    if (make_plan(in_order(rewritten(program, more))).arena_bytes <= most)
      rewrites = std::move(more);
    else
      left_out.insert(members);
  }
  return remove_dead(rewritten(program, rewrites));
}

}  // namespace plimsoll::fusion
