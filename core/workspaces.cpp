#include "core/workspaces.h"

#include <algorithm>

#include "core/apply.h"
#include "core/cpu/parallel.h"

namespace plimsoll {
namespace {

thread_local std::span<const Strides> strides_now;

// All that a workspace depends on.
struct Asked {
  const OpDef* op;
  Attrs attrs;
  Metas in, out;
  std::vector<Strides> strides;
  bool operator==(const Asked&) const = default;

  explicit Asked(const Instruction& instruction) : op(instruction.op), attrs(instruction.attrs) {
    for (const Operand& operand : instruction.in) {
      in.push_back(operand.meta);
      strides.push_back(operand.strides);
    }
    for (const Operand& operand : instruction.out) out.push_back(operand.meta);
  }

  int64_t answer() const {
    const AskedStrides scope(strides);
    return workspace_bytes(*op, in, out, attrs);
  }
};

// Each once: to ask a second time would keep a thread waiting for the first.
void find_on_gpu(Program& program) {
  std::vector<Asked> different;
  std::vector<std::pair<Instruction*, size_t>> wanted;  // and which of the different ones it is
  for (Instruction& instruction : program.instructions) {
    if (!instruction.op->workspace) continue;
    Asked asked(instruction);
    const auto known = std::ranges::find(different, asked);
    wanted.emplace_back(&instruction, static_cast<size_t>(known - different.begin()));
    if (known == different.end()) different.push_back(std::move(asked));
  }
  std::vector<int64_t> bytes(different.size());
  const auto pool = current_allocator(Device::cuda);  // where what is timed takes its memory
  parallel_for(std::ssize(different), 1, [&](int64_t begin, int64_t end) {
    const AllocatorScope scope(pool);
    for (int64_t i = begin; i < end; ++i)
      bytes[static_cast<size_t>(i)] = different[static_cast<size_t>(i)].answer();
  });
  for (const auto& [instruction, which] : wanted) instruction->workspace = bytes[which];
}

}  // namespace

std::span<const Strides> asked_strides() { return strides_now; }

AskedStrides::AskedStrides(std::span<const Strides> strides) : previous_(strides_now) {
  strides_now = strides;
}
AskedStrides::~AskedStrides() { strides_now = previous_; }

void find_workspaces(Program& program) {
  if (program.device == Device::cuda) return find_on_gpu(program);
  for (Instruction& instruction : program.instructions)
    if (instruction.op->workspace) instruction.workspace = Asked(instruction).answer();
}

}  // namespace plimsoll
