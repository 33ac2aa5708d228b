#include "memory/costs.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "core/apply.h"
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
  const std::vector<std::byte> zeros(static_cast<size_t>(bytes));
  copy_bytes(storages.back()->data(), operand.meta.device, zeros.data(), Device::cpu, bytes);
  return {storages.back()->data(), operand.meta, operand.strides};
}

// What lies outside of the step is there already, and only read.
View outside(const Operand& operand, const Storage& storage) {
  return {storage.data() + operand.offset * size_of(operand.meta.dtype), operand.meta,
          operand.strides};
}

double measured(const Instruction& instruction, const std::vector<Buffer>& buffers) {
  if (instruction.op->mutates) return modelled(instruction);
  std::vector<std::shared_ptr<Storage>> storages;
  std::vector<View> in, out;
  for (const Operand& operand : instruction.in) {
    const Buffer& buffer = buffers[operand.buffer];
    in.push_back(buffer.kind == Buffer::Kind::external ? outside(operand, *buffer.storage)
                                                       : scratch(operand, storages));
  }
  for (const Operand& operand : instruction.out) out.push_back(scratch(operand, storages));
  if (std::ranges::all_of(instruction.out, [](const auto& o) { return count(o.meta.shape) == 0; }))
    return 0;
  std::span<std::byte> workspace;
  if (instruction.workspace > 0) {
    storages.push_back(Storage::allocate(instruction.out[0].meta.device, instruction.workspace,
                                         MemoryClass::workspace, "costs"));
    workspace = {storages.back()->data(), static_cast<size_t>(instruction.workspace)};
  }
  const Device device = instruction.out[0].meta.device;
  const Kernel kernel = kernel_for(*instruction.op, device);
  double best = 0;
  try {
    for (int run = 0; run <= kRuns; ++run) {
      const auto start = std::chrono::steady_clock::now();
      kernel({in, out, instruction.attrs, workspace});
      if (device == Device::cuda) cuda_api().synchronize();
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
  double cost;
};

double measured_once(const Instruction& instruction, const std::vector<Buffer>& buffers) {
  static std::mutex mutex;
  static std::unordered_map<const OpDef*, std::vector<Known>> table;
  const std::scoped_lock lock(mutex);
  std::vector<Known>& known = table[instruction.op];
  for (const Known& k : known)
    if (same_kind(k.instruction, instruction)) return k.cost;
  known.push_back({instruction, measured(instruction, buffers)});
  return known.back().cost;
}

}  // namespace

std::vector<double> instruction_costs(const Program& program, CostModel model) {
  // The null device has nothing to measure.
  const bool measure = model == CostModel::measured && program.device != Device::null;
  const auto pool = std::make_shared<PooledAllocator>(
      program.device == Device::cuda ? cuda_provider() : host_provider());
  std::optional<AllocatorScope> scope;
  if (measure) scope.emplace(pool);
  std::vector<double> costs;
  for (const Instruction& instruction : program.instructions) {
    costs.push_back(measure ? measured_once(instruction, program.buffers) : modelled(instruction));
    pool->trim();  // the process holds one instruction's operands, not all that were measured
  }
  return costs;
}

}  // namespace plimsoll
