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

// An instruction as the plan has it. `in_place`: its first output lies on the input that its op
// declares. That is half the memory to go through: relu takes 0.6 of the time.
struct Planned {
  const Instruction& instruction;
  bool in_place;

  // The buffer that is the first output's, -1: none.
  int overwritten() const {
    return in_place ? instruction.in[static_cast<size_t>(instruction.op->inplace)].buffer : -1;
  }
};

// The buffers of these operands, once each, in the operands' order.
std::vector<int> buffers_of(const std::vector<Operand>& operands) {
  std::vector<int> found;
  for (const Operand& operand : operands)
    if (std::ranges::find(found, operand.buffer) == found.end()) found.push_back(operand.buffer);
  return found;
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

// Zeros, divided anew for each instruction: buffers it reads lie in one part, those it writes and
// its workspace in the other. So no more is needed than the buffers of one instruction, which every
// plan holds at once too. What is outside the step, as parameters are, is read where it is.
//
// A step finds the first operand of an instruction in the caches, as it was made just before, and
// the others as far away as the step is large: with all of them in the caches, what only moves
// memory would seem to take three quarters of its time. So the others move from run to run.
class Scratch {
 public:
  Scratch(const Program& program, const std::vector<Planned>& planned, int64_t bytes)
      : buffers_(program.buffers), device_(program.device) {
    for (const Planned& p : planned) {
      if (p.instruction.op->mutates) continue;  // it is not run
      const auto [read, written] = needs(p);
      bytes = std::max(bytes, read + written);
    }
    storage_ = Storage::allocate(device_, bytes, MemoryClass::workspace, "costs");
    fill_zeros(storage_->data(), device_, storage_->bytes());
  }

  void begin(const Planned& planned) {
    const auto [read, written] = needs(planned);
    const int64_t all = storage_->bytes();
    const int64_t second = std::max(written, std::min(all / 2, all - read));
    read_ = {storage_->data(), all - second};
    written_ = {storage_->data() + all - second, second};
    at_.clear();
  }

  // Where the operands lie in the next run. Returns the workspace.
  std::span<std::byte> place(const Planned& planned, std::vector<View>& in,
                             std::vector<View>& out) {
    const Instruction& instruction = planned.instruction;
    for (const int b : buffers_of(instruction.in))
      if (outside(b))
        at_[b] = buffers_[b].storage->data();
      else if (b != instruction.in[0].buffer || !at_.contains(b))
        at_[b] = read_.take(buffers_[b].bytes);
    std::byte* next = written_.take(needs(planned).second);  // all in one: they may not overlap
    for (const int b : buffers_of(instruction.out)) {
      at_[b] = next;
      next += block_bytes(buffers_[b].bytes);
    }
    if (const int b = planned.overwritten(); b != -1) {
      at_[b] = at_[instruction.out[0].buffer];
      fill_zeros(at_[b], device_, buffers_[b].bytes);
    }
    const auto lie = [&](std::vector<View>& views, const std::vector<Operand>& operands) {
      for (size_t k = 0; k < operands.size(); ++k) {
        const Operand& o = operands[k];
        views[k] = {at_[o.buffer] + o.offset * size_of(o.meta.dtype), o.meta, o.strides};
      }
    };
    lie(in, instruction.in);
    lie(out, instruction.out);
    return {next, static_cast<size_t>(instruction.workspace)};
  }

  void end() { fill_zeros(written_.data, device_, written_.bytes); }

 private:
  bool outside(int b) const { return buffers_[b].kind == Buffer::Kind::external; }

  std::pair<int64_t, int64_t> needs(const Planned& planned) const {
    int64_t read = 0, written = block_bytes(planned.instruction.workspace);
    for (const int b : buffers_of(planned.instruction.in))
      if (!outside(b) && b != planned.overwritten()) read += block_bytes(buffers_[b].bytes);
    for (const int b : buffers_of(planned.instruction.out))
      written += block_bytes(buffers_[b].bytes);
    return {read, written};
  }

  const std::vector<Buffer>& buffers_;
  const Device device_;
  std::shared_ptr<Storage> storage_;
  Ring read_{}, written_{};
  std::unordered_map<int, std::byte*> at_;
};

double measured(const Planned& planned, Scratch& scratch) {
  const Instruction& instruction = planned.instruction;
  if (instruction.op->mutates) return modelled_seconds(instruction);
  if (std::ranges::all_of(instruction.out, [](const auto& o) { return count(o.meta.shape) == 0; }))
    return 0;
  std::vector<View> in(instruction.in.size()), out(instruction.out.size());
  const Device device = instruction.out[0].meta.device;
  const Kernel kernel = kernel_for(*instruction.op, device);
  const auto wait = [&] {
    if (device == Device::cuda) cuda_api().synchronize();
  };
  wait();  // what earlier kernels met is thrown here, not taken for an error of this one
  double best = 0;
  scratch.begin(planned);
  try {
    for (int run = 0; run <= kRuns; ++run) {
      const std::span<std::byte> workspace = scratch.place(planned, in, out);
      const auto start = std::chrono::steady_clock::now();
      kernel({in, out, instruction.attrs, workspace});
      wait();
      const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
      if (run > 0 && (run == 1 || time.count() < best)) best = time.count();
    }
  } catch (const Error&) {  // zeros are no valid input
    best = modelled_seconds(instruction);
  }
  scratch.end();
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

double measured_once(const Planned& planned, Scratch& scratch) {
  const auto& [instruction, in_place] = planned;
  static std::mutex mutex;
  static std::unordered_map<const OpDef*, std::vector<Known>> table;
  const std::scoped_lock lock(mutex);
  std::vector<Known>& known = table[instruction.op];
  for (const Known& k : known)
    if (k.in_place == in_place && same_kind(k.instruction, instruction)) return k.cost;
  known.push_back({instruction, in_place, measured(planned, scratch)});
  return known.back().cost;
}

}  // namespace

double modelled_seconds(const Instruction& instruction, const DeviceSpeed& speed) {
  const Metas in = metas_of(instruction.in), out = metas_of(instruction.out);
  double bytes = 0;
  for (const Meta& meta : in) bytes += static_cast<double>(bytes_of(meta));
  for (const Meta& meta : out) bytes += static_cast<double>(bytes_of(meta));
  const bool wide = in.empty() || size_of(in[0].dtype) > 2;
  const double flops =
      instruction.op->flops ? instruction.op->flops(in, out, instruction.attrs) : 0;
  return flops / (wide ? speed.flops : speed.flops16) + bytes / speed.bytes;
}

std::vector<double> instruction_costs(const Program& program, CostModel model) {
  std::vector<double> costs;
  if (model == CostModel::model || program.device == Device::null) {  // which runs nothing
    for (const Instruction& instruction : program.instructions)
      costs.push_back(modelled_seconds(instruction));
    return costs;
  }
  std::vector<Lifetime> lives = lifetimes(program);
  const std::vector<int> home = fold_in_place(program, lives);
  std::vector<Box> boxes;
  for (size_t b = 0; b < lives.size(); ++b)
    if (lives[b].begin < lives[b].end)
      boxes.push_back({block_bytes(program.buffers[b].bytes), lives[b].begin, lives[b].end});
  std::vector<Planned> planned;
  for (const Instruction& instruction : program.instructions)
    planned.push_back({instruction, !instruction.out.empty() &&
                                        home[static_cast<size_t>(instruction.out[0].buffer)] !=
                                            instruction.out[0].buffer});
  const AllocatorScope scope(std::make_shared<PooledAllocator>(
      program.device == Device::cuda ? cuda_provider() : host_provider()));
  Scratch scratch(program, planned, std::min(live_peak(boxes).bytes, kFarAway));
  for (const Planned& p : planned) costs.push_back(measured_once(p, scratch));
  return costs;
}

}  // namespace plimsoll
