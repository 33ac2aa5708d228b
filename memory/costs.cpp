#include "memory/costs.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "core/apply.h"
#include "memory/in_place.h"
#include "memory/pooled_allocator.h"

namespace plimsoll {
namespace {

constexpr int kRuns = 5;  // the fastest counts, after one to warm up

Metas metas_of(const std::vector<Operand>& operands) {
  Metas metas;
  for (const Operand& operand : operands) metas.push_back(operand.meta);
  return metas;
}

double modelled(const Instruction& instruction) {
  const Metas in = metas_of(instruction.in), out = metas_of(instruction.out);
  double bytes = 0;
  for (const Meta& meta : in) bytes += static_cast<double>(bytes_of(meta));
  for (const Meta& meta : out) bytes += static_cast<double>(bytes_of(meta));
  const double flops =
      instruction.op->flops ? instruction.op->flops(in, out, instruction.attrs) : 0;
  return flops / 1e11 + bytes / 1e10;
}

// Memory of zeros that an operand can look into: from its offset on, as far as its strides reach.
View scratch(const Operand& operand, std::vector<std::shared_ptr<Storage>>& storages) {
  int64_t elements = 1;
  for (int axis = 0; axis < operand.meta.shape.rank(); ++axis)
    elements += std::max<int64_t>(operand.meta.shape[axis] - 1, 0) * operand.strides[axis];
  const int64_t bytes = elements * size_of(operand.meta.dtype);
  storages.push_back(
      Storage::allocate(operand.meta.device, bytes, MemoryClass::workspace, "costs"));
  std::memset(storages.back()->data(), 0, static_cast<size_t>(bytes));
  return {storages.back()->data(), operand.meta, operand.strides};
}

// `in_place`: the first output lies on the input that its op declares, as the plan has it. That is
// half the memory to go through: relu takes 0.6 of the time.
double measured(const Instruction& instruction, bool in_place) {
  if (instruction.op->mutates) return modelled(instruction);
  std::vector<std::shared_ptr<Storage>> storages;
  std::vector<View> in, out;
  for (const Operand& operand : instruction.in) in.push_back(scratch(operand, storages));
  for (const Operand& operand : instruction.out) out.push_back(scratch(operand, storages));
  if (in_place) out[0].data = in[static_cast<size_t>(instruction.op->inplace)].data;
  if (std::ranges::all_of(instruction.out, [](const auto& o) { return count(o.meta.shape) == 0; }))
    return 0;
  std::span<std::byte> workspace;
  if (instruction.workspace > 0) {
    storages.push_back(Storage::allocate(instruction.out[0].meta.device, instruction.workspace,
                                         MemoryClass::workspace, "costs"));
    workspace = {storages.back()->data(), static_cast<size_t>(instruction.workspace)};
  }
  const Kernel kernel = kernel_for(*instruction.op, instruction.out[0].meta.device);
  double best = 0;
  try {
    for (int run = 0; run <= kRuns; ++run) {
      const auto start = std::chrono::steady_clock::now();
      kernel({in, out, instruction.attrs, workspace});
      const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
      if (run > 0 && (run == 1 || time.count() < best)) best = time.count();
    }
  } catch (const Error&) {  // zeros are no valid input
    return modelled(instruction);
  }
  return best;
}

bool same_kind(const Operand& a, const Operand& b) {
  return a.meta == b.meta && a.strides == b.strides;
}

bool same_kind(const Instruction& a, const Instruction& b) {
  const auto same = [](const Operand& x, const Operand& y) { return same_kind(x, y); };
  return a.op == b.op && a.attrs == b.attrs && std::ranges::equal(a.in, b.in, same) &&
         std::ranges::equal(a.out, b.out, same);
}

// The cost of an instruction like this one, if it has been measured. The table lives as long as the
// process: a model planned for another budget or batch shares most of its kinds.
struct Known {
  Instruction instruction;
  bool in_place;
  double cost;
};

double measured_once(const Instruction& instruction, bool in_place) {
  static std::mutex mutex;
  static std::unordered_map<const OpDef*, std::vector<Known>> table;
  const std::scoped_lock lock(mutex);
  std::vector<Known>& known = table[instruction.op];
  for (const Known& k : known)
    if (k.in_place == in_place && same_kind(k.instruction, instruction)) return k.cost;
  known.push_back({instruction, in_place, measured(instruction, in_place)});
  return known.back().cost;
}

}  // namespace

std::vector<double> instruction_costs(const Program& program, CostModel model) {
  // Only memory of the host can be filled here; the null device has nothing to measure.
  const bool measure = model == CostModel::measured && program.device == Device::cpu;
  std::optional<AllocatorScope> scope;
  if (measure) scope.emplace(std::make_shared<PooledAllocator>(host_provider()));
  std::vector<Lifetime> lives = lifetimes(program);
  const std::vector<int> home = fold_in_place(program, lives);
  const auto in_place = [&](const Instruction& instruction) {
    if (instruction.out.empty()) return false;
    const int out = instruction.out[0].buffer;
    return home[static_cast<size_t>(out)] != out;
  };
  std::vector<double> costs;
  for (const Instruction& instruction : program.instructions)
    costs.push_back(measure ? measured_once(instruction, in_place(instruction))
                            : modelled(instruction));
  return costs;
}

}  // namespace plimsoll
