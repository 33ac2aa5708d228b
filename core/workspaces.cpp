#include "core/workspaces.h"

#include "core/apply.h"

namespace plimsoll {
namespace {

thread_local std::span<const Strides> strides_now;

}  // namespace

std::span<const Strides> asked_strides() { return strides_now; }

AskedStrides::AskedStrides(std::span<const Strides> strides) : previous_(strides_now) {
  strides_now = strides;
}
AskedStrides::~AskedStrides() { strides_now = previous_; }

void find_workspaces(Program& program) {
  for (Instruction& instruction : program.instructions) {
    if (!instruction.op->workspace) continue;
    Metas in, out;
    std::vector<Strides> strides;
    for (const Operand& operand : instruction.in) {
      in.push_back(operand.meta);
      strides.push_back(operand.strides);
    }
    for (const Operand& operand : instruction.out) out.push_back(operand.meta);
    const AskedStrides scope(strides);
    instruction.workspace = workspace_bytes(*instruction.op, in, out, instruction.attrs);
  }
}

}  // namespace plimsoll
