#include "memory/costs.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <unordered_map>

#include "core/apply.h"
#include "memory/in_place.h"
#include "memory/offsets.h"
#include "memory/pooled_allocator.h"

namespace plimsoll {
namespace {

constexpr int kRuns = 5;                        // the fastest counts, after one to warm up
constexpr int64_t kFarAway = int64_t{8} << 20;  // bytes; more than the caches of a core hold

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

// Bytes from the operand's first element to its last, as far as its strides reach.
int64_t reach(const Operand& operand) {
  int64_t elements = 1;
  for (int axis = 0; axis < operand.meta.shape.rank(); ++axis)
    elements += std::max<int64_t>(operand.meta.shape[axis] - 1, 0) * operand.strides[axis];
  return elements * size_of(operand.meta.dtype);
}

bool outside(const Operand& operand, const std::vector<Buffer>& buffers) {
  return buffers[operand.buffer].kind == Buffer::Kind::external;
}

// Bytes of inputs that are not there yet, and of outputs and workspace, of one instruction.
std::pair<int64_t, int64_t> needs(const Instruction& instruction,
                                  const std::vector<Buffer>& buffers) {
  int64_t in = 0, out = block_bytes(instruction.workspace);
  for (const Operand& operand : instruction.in)
    if (!outside(operand, buffers)) in += block_bytes(reach(operand));
  for (const Operand& operand : instruction.out) out += block_bytes(reach(operand));
  return {in, out};
}

void fill_zeros(std::byte* data, Device device, int64_t bytes) {
  if (device == Device::cpu) {  // where it is: a second block as large would count for the process
    std::fill_n(data, bytes, std::byte{0});
    return;
  }
  const std::vector<std::byte> zeros(static_cast<size_t>(bytes));
  copy_bytes(data, device, zeros.data(), Device::cpu, bytes);
}

// Memory to walk through, round and round: what is taken from it was used a long time ago.
struct Ring {
  std::byte* data;
  int64_t bytes, at = 0;

  std::byte* take(int64_t wanted) {
    if (at + block_bytes(wanted) > bytes) at = 0;
    at += block_bytes(wanted);
    return data + at - block_bytes(wanted);
  }
};

// Zeros, divided anew for each instruction: what it reads in one part, what it writes in the other.
// So no more is held than the operands of one instruction, which every plan holds at once too.
//
// A step finds the first operand of an instruction in the caches, as it was made just before, and
// the others as far away as the step is large: with all of them in the caches, what only moves
// memory would seem to take three quarters of its time.
class Scratch {
 public:
  Scratch(const Program& program, int64_t bytes)
      : buffers_(program.buffers),
        device_(program.device),
        storage_(Storage::allocate(device_, bytes, MemoryClass::workspace, "costs")) {
    fill_zeros(storage_->data(), device_, storage_->bytes());
  }

  void divide(const Instruction& instruction) {
    const auto [read, made] = needs(instruction, buffers_);
    const int64_t all = storage_->bytes();
    const int64_t second = std::max(made, std::min(all / 2, all - read));
    zeros_ = {storage_->data(), all - second};
    written_ = {storage_->data() + all - second, second};
  }
  // Parameters and the like are read where they are.
  std::byte* input(const Operand& o) {
    return outside(o, buffers_)
               ? buffers_[o.buffer].storage->data() + o.offset * size_of(o.meta.dtype)
               : zeros_.take(reach(o));
  }
  // For all outputs and the workspace, one behind the other.
  std::byte* outputs(const Instruction& instruction) {
    return written_.take(needs(instruction, buffers_).second);
  }
  void clear() { fill_zeros(written_.data, device_, written_.bytes); }

 private:
  const std::vector<Buffer>& buffers_;
  const Device device_;
  std::shared_ptr<Storage> storage_;
  Ring zeros_{}, written_{};
};

// `in_place`: the first output lies on the input that its op declares, as the plan has it. That is
// half the memory to go through: relu takes 0.6 of the time.
double measured(const Instruction& instruction, bool in_place, Scratch& scratch) {
  if (instruction.op->mutates) return modelled(instruction);
  if (std::ranges::all_of(instruction.out, [](const auto& o) { return count(o.meta.shape) == 0; }))
    return 0;
  scratch.divide(instruction);
  std::vector<View> in, out;
  for (const Operand& o : instruction.in) in.push_back({scratch.input(o), o.meta, o.strides});
  for (const Operand& o : instruction.out) out.push_back({nullptr, o.meta, o.strides});
  const auto over = static_cast<size_t>(instruction.op->inplace);
  const Device device = instruction.out[0].meta.device;
  const Kernel kernel = kernel_for(*instruction.op, device);
  const auto wait = [&] {
    if (device == Device::cuda) cuda_api().synchronize();
  };
  wait();  // what earlier kernels met is thrown here, not taken for an error of this one
  double best = 0;
  try {
    for (int run = 0; run <= kRuns; ++run) {
      for (size_t k = 1; k < in.size(); ++k) in[k].data = scratch.input(instruction.in[k]);
      std::byte* at = scratch.outputs(instruction);
      for (size_t k = 0; k < out.size(); ++k) {
        out[k].data = at;
        at += block_bytes(reach(instruction.out[k]));
      }
      if (in_place) {
        in[over].data = out[0].data;
        fill_zeros(out[0].as<std::byte>(), device, reach(instruction.out[0]));
      }
      std::span<std::byte> workspace;
      if (instruction.workspace > 0) workspace = {at, static_cast<size_t>(instruction.workspace)};
      const auto start = std::chrono::steady_clock::now();
      kernel({in, out, instruction.attrs, workspace});
      wait();
      const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
      if (run > 0 && (run == 1 || time.count() < best)) best = time.count();
    }
  } catch (const Error&) {  // zeros are no valid input
    best = modelled(instruction);
  }
  scratch.clear();
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

double measured_once(const Instruction& instruction, bool in_place, Scratch& scratch) {
  static std::mutex mutex;
  static std::unordered_map<const OpDef*, std::vector<Known>> table;
  const std::scoped_lock lock(mutex);
  std::vector<Known>& known = table[instruction.op];
  for (const Known& k : known)
    if (k.in_place == in_place && same_kind(k.instruction, instruction)) return k.cost;
  known.push_back({instruction, in_place, measured(instruction, in_place, scratch)});
  return known.back().cost;
}

}  // namespace

std::vector<double> instruction_costs(const Program& program, CostModel model) {
  std::vector<double> costs;
  if (model == CostModel::model || program.device == Device::null) {  // which runs nothing
    for (const Instruction& instruction : program.instructions)
      costs.push_back(modelled(instruction));
    return costs;
  }
  std::vector<Lifetime> lives = lifetimes(program);
  const std::vector<int> home = fold_in_place(program, lives);
  std::vector<Box> boxes;
  for (size_t b = 0; b < lives.size(); ++b)
    if (lives[b].begin < lives[b].end)
      boxes.push_back({block_bytes(program.buffers[b].bytes), lives[b].begin, lives[b].end});
  int64_t bytes = std::min(live_peak(boxes).bytes, kFarAway);
  for (const Instruction& instruction : program.instructions) {
    if (instruction.op->mutates) continue;  // they are not run
    const auto [read, made] = needs(instruction, program.buffers);
    bytes = std::max(bytes, read + made);
  }
  const AllocatorScope scope(std::make_shared<PooledAllocator>(
      program.device == Device::cuda ? cuda_provider() : host_provider()));
  Scratch scratch(program, bytes);
  for (const Instruction& instruction : program.instructions) {
    const bool in_place =
        !instruction.out.empty() &&
        home[static_cast<size_t>(instruction.out[0].buffer)] != instruction.out[0].buffer;
    costs.push_back(measured_once(instruction, in_place, scratch));
  }
  return costs;
}

}  // namespace plimsoll
