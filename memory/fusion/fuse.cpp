#include "memory/fusion/fuse.h"

#include <algorithm>

#include "memory/dead_code.h"
#include "memory/early_update.h"
#include "memory/fusion/build.h"
#include "memory/fusion/combine.h"
#include "memory/plan.h"

namespace plimsoll {

Program fusion::rewrite(const Program& program, const std::vector<Group>& groups) {
  const std::vector<int> last_use = last_uses(program);
  Program fused = program;
  std::vector<bool> gone(program.instructions.size());
  for (const Group& group : groups) {
    for (const int member : group.members) gone[static_cast<size_t>(member)] = true;
    const auto last = static_cast<size_t>(group.members.back());
    gone[last] = false;
    fused.instructions[last] = build(program, last_use, group);
  }
  size_t i = 0;
  std::erase_if(fused.instructions, [&](const Instruction&) { return gone[i++]; });
  return remove_dead(std::move(fused));
}

namespace {

using fusion::Group;

Plan plan_of(const Program& program, Program& ordered) {
  ordered = update_early(program);
  return make_plan(ordered);
}

// The group that is at fault for a larger plan: the one that runs at the peak, or else the one
// whose members were the farthest apart, which keeps what they read for longest.
size_t at_fault(const Program& ordered, int peak, const std::vector<Group>& groups) {
  const auto& instructions = ordered.instructions;
  if (peak >= 0 && fusion::is_fused(instructions[static_cast<size_t>(peak)]))
    return static_cast<size_t>(
        std::count_if(instructions.begin(), instructions.begin() + peak, fusion::is_fused));
  const auto span = [](const Group& group) { return group.members.back() - group.members.front(); };
  return static_cast<size_t>(std::ranges::max_element(groups, {}, span) - groups.begin());
}

// Whether all fused instructions can run: on a GPU, once their kernels are compiled, as one module.
bool is_ready(const Program& program) {
  if (program.device != Device::cuda) return true;
  std::vector<const GeneratedKernel*> kernels;
  for (const Instruction& instruction : program.instructions)
    if (fusion::is_fused(instruction))
      kernels.push_back(instruction.attrs.as<fusion::Fused>().kernel);
  return compile_generated && compile_generated(kernels);
}

}  // namespace

Program fuse(Program program, Fusion passes) {
  if (program.device == Device::null || passes == Fusion{}) return program;
  if (passes.norms) program = combine(std::move(program));
  std::vector<Group> groups = fusion::find_groups(program, passes);
  if (groups.empty()) return program;
  Program ordered;
  const int64_t most = plan_of(program, ordered).arena_bytes;
  while (!groups.empty()) {
    Program fused = fusion::rewrite(program, groups);
    const Plan plan = plan_of(fused, ordered);
    if (plan.arena_bytes <= most) return is_ready(fused) ? std::move(fused) : std::move(program);
    groups.erase(groups.begin() +
                 static_cast<int64_t>(at_fault(ordered, plan.peak_instruction, groups)));
  }
  return program;
}

}  // namespace plimsoll
