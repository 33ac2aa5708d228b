#include "memory/recompute/costs.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <unordered_map>

#include "core/cpu/caches.h"
#include "core/cpu/parallel.h"
#include "core/engine/apply.h"
#include "core/engine/operands.h"
#include "memory/layout/in_place.h"
#include "memory/pool/pooled_allocator.h"

namespace plimsoll {
namespace {

// Runs near, with all operands in the shared cache, with one of them far after the other, and with
// all of them far: so often that they take so many seconds, and the lower quartile counts, of a few
// the least: what others on the machine disturb takes longer, never less. Others may be there for
// longer than one instruction is measured, so all are measured again some time later, and the
// lesser counts. Operands of fewer bytes are near always.
constexpr int kFewest = 3, kMost = 9, kRounds = 2;
constexpr double kTime = 0.005;
// A cache that all cores share keeps what was used there before. What came from memory once, as
// all that was dropped does, it does not keep: so runs that are not measured go first. What takes
// longer reads its operands several times and settles them at once.
constexpr int kToSettle = 4;
constexpr double kTimeToSettle = 0.02;
constexpr int64_t kLeastFar = 32 << 10;

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

// What an instruction is run on. `counter`: one i64, as the number of a step is, which is counted
// from 1.
struct Made {
  std::span<std::byte> bytes;
  bool counter;
};

void fill(const Made& made, Device device) {
  const auto [bytes, counter] = made;
  if (device == Device::cpu) {  // where it is: a second block as large would count for the process
    bring_near(bytes.data(), std::ssize(bytes));
    if (counter) *reinterpret_cast<int64_t*>(bytes.data()) = 1;
    return;
  }
  std::vector<std::byte> values(bytes.size());
  if (counter) *reinterpret_cast<int64_t*>(values.data()) = 1;
  copy_bytes(bytes.data(), device, values.data(), Device::cpu, std::ssize(bytes));
}

// Zeros and counters, divided anew for each instruction among the buffers that it touches and its workspace: no
// more is needed than every plan holds at once too. What is outside the step, as parameters are, is
// read where it is, and written here.
class Scratch {
 public:
  Scratch(const Program& program, const std::vector<Planned>& planned)
      : buffers_(program.buffers), device_(program.device) {
    for (const Planned& p : planned)
      if (!p.instruction.op->mutates) bytes_ = std::max(bytes_, needs(p));
  }

  // Whether there is room for zeros in place of what it writes into: not where they would be more
  // than all other instructions need.
  bool has_room_for_update(const Planned& planned) const {
    return device_ == Device::cpu && needs(planned) <= bytes_;
  }

  // Where the operands lie. Returns the workspace.
  std::span<std::byte> place(const Planned& planned, std::vector<View>& in,
                             std::vector<View>& out) {
    const Instruction& instruction = planned.instruction;
    if (!storage_)  // at once: a pool keeps what it gave before
      storage_ = Storage::allocate(device_, bytes_, MemoryClass::workspace, "costs");
    std::unordered_map<int, std::byte*> at;
    std::byte* next = storage_->data();
    const auto take = [&](int64_t bytes) {
      next += block_bytes(bytes);
      return std::span(next - block_bytes(bytes), static_cast<size_t>(bytes));
    };
    made_.clear();
    places_.clear();
    const auto lie = [&](std::vector<View>& views, const Operand& operand) {
      const auto [found, is_new] = at.try_emplace(operand.buffer, nullptr);
      const Buffer& buffer = buffers_[operand.buffer];
      const bool over = &views == &out && planned.in_place && views.empty();
      places_.emplace_back();  // counts where it was met first
      if (over) {
        found->second = at.at(planned.overwritten());
      } else if (is_new) {
        const bool stays = outside(operand.buffer) && !instruction.op->mutates;
        places_.back() = stays
                             ? std::span(buffer.storage->data(), static_cast<size_t>(buffer.bytes))
                             : take(buffer.bytes);
        found->second = places_.back().data();
        if (&views == &in && !stays)
          made_.push_back(
              {places_.back(), operand.meta.dtype == DType::i64 && operand.meta.shape.rank() == 0});
      }
      views.push_back({found->second + operand.offset * size_of(operand.meta.dtype), operand.meta,
                       operand.strides});
    };
    for (const Operand& operand : instruction.in) lie(in, operand);
    for (const Operand& operand : instruction.out) lie(out, operand);
    places_.push_back(take(instruction.workspace));
    if (device_ != Device::cpu) {  // once, then only what is written over: copies from the host
      for (const Made& made : made_) fill(made, device_);
      std::erase_if(made_, [&](const Made& made) {
        return !planned.in_place || made.bytes.data() != at[planned.overwritten()];
      });
    }
    return places_.back();
  }

  // Of the inputs, the outputs and the workspace, as in Cost::later; 0 for one that lies where
  // another does.
  size_t places() const { return places_.size(); }
  int64_t bytes(size_t place) const { return std::ssize(places_[place]); }

  // Before each run: what it reads was written last, by all threads, as an op would have.
  void bring_near() {
    for (const Made& made : made_) fill(made, device_);
  }
  void drop(size_t place) { drop_from_caches(places_[place].data(), std::ssize(places_[place])); }
  void demote(size_t place) {
    demote_to_shared_cache(places_[place].data(), std::ssize(places_[place]));
  }

  // Which of its inputs the step does not make.
  std::vector<bool> outside(const Instruction& instruction) const {
    std::vector<bool> all;
    for (const Operand& operand : instruction.in) all.push_back(outside(operand.buffer));
    return all;
  }

 private:
  bool outside(int b) const { return buffers_[b].kind == Buffer::Kind::external; }

  int64_t needs(const Planned& planned) const {
    int64_t bytes = block_bytes(planned.instruction.workspace);
    for (const int b : buffers_of(planned.instruction.in))
      if (!outside(b) || planned.instruction.op->mutates) bytes += block_bytes(buffers_[b].bytes);
    for (const int b : buffers_of(planned.instruction.out))
      if (!planned.in_place || b != planned.instruction.out[0].buffer)
        bytes += block_bytes(buffers_[b].bytes);
    return bytes;
  }

  const std::vector<Buffer>& buffers_;
  const Device device_;
  int64_t bytes_ = 0;  // of the largest instruction
  std::shared_ptr<Storage> storage_;
  std::vector<Made> made_;
  std::vector<std::span<std::byte>> places_;
};

Cost modelled(const Instruction& instruction) {
  const double seconds = modelled_seconds(instruction);
  return {.near = seconds, .far = seconds, .later = {}};
}

// Where caches cannot be told what to forget, as on a GPU, the operands are near.
Cost measured(const Planned& planned, Scratch& scratch) {
  const Instruction& instruction = planned.instruction;
  const bool mutates = instruction.op->mutates;  // then it has no outputs
  const Device device = (mutates ? instruction.in : instruction.out)[0].meta.device;
  if (!mutates &&
      std::ranges::all_of(instruction.out, [](const auto& o) { return count(o.meta.shape) == 0; }))
    return {};
  std::vector<View> in, out;
  const Kernel kernel = kernel_for(*instruction.op, device);
  const auto wait = [&] { synchronize(device); };
  wait();  // what earlier kernels met is thrown here, not taken for an error of this one
  const std::span<std::byte> workspace = scratch.place(planned, in, out);
  using Move = void (Scratch::*)(size_t place);
  const auto seconds = [&](const std::vector<size_t>& places, Move move) {
    scratch.bring_near();
    for (const size_t place : places) (scratch.*move)(place);
    wait();
    const auto start = std::chrono::steady_clock::now();
    kernel({in, out, instruction.attrs, workspace});
    wait();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  const auto repeated = [&](int fewest, int most, double limit, const std::vector<size_t>& places,
                            Move move) {
    std::vector<double> times;
    double spent = 0;
    while (std::ssize(times) < fewest || (std::ssize(times) < most && spent < limit)) {
      times.push_back(seconds(places, move));
      spent += times.back();
    }
    std::ranges::nth_element(times, times.begin() + std::ssize(times) / 4);
    return times[times.size() / 4];
  };
  const auto usual = [&](const std::vector<size_t>& places, Move move) {
    return repeated(kFewest, kMost, kTime, places, move);
  };
  const auto settled = [&](const std::vector<size_t>& far) {
    repeated(1, kToSettle, kTimeToSettle, {}, {});
    return usual(far, &Scratch::drop);
  };
  std::vector<size_t> all;  // places that can be far
  for (size_t k = 0; k < scratch.places(); ++k)
    if (kCanDropFromCaches && device == Device::cpu && scratch.bytes(k) >= kLeastFar)
      all.push_back(k);
  try {
    const double near = settled({});
    Cost cost{.near = near, .far = near, .later = std::vector<double>(scratch.places())};
    if (!all.empty() && can_demote_to_shared_cache())
      cost.shared = std::max(0.0, usual(all, &Scratch::demote) - near);
    for (const size_t k : all) cost.later[k] = std::max(0.0, settled({k}) - near);
    if (!all.empty()) cost.far = std::max(near, usual(all, &Scratch::drop));
    return cost;
  } catch (const Error&) {  // such numbers are no valid input
    return modelled(instruction);
  }
}

bool same_kind(const Operand& a, const Operand& b) {
  return a.meta == b.meta && a.strides == b.strides;
}

// Which of the inputs lies in the buffer of each input first: a Cost tells them apart by it.
std::vector<int> sharing(const Instruction& instruction) {
  const std::vector<int> buffers = buffers_of(instruction.in);
  std::vector<int> first;
  for (const Operand& operand : instruction.in)
    first.push_back(static_cast<int>(std::ranges::find(buffers, operand.buffer) - buffers.begin()));
  return first;
}

bool same_kind(const Instruction& a, const Instruction& b) {
  const auto same = [](const Operand& x, const Operand& y) { return same_kind(x, y); };
  return a.op == b.op && a.attrs == b.attrs && std::ranges::equal(a.in, b.in, same) &&
         std::ranges::equal(a.out, b.out, same) && sharing(a) == sharing(b);
}

// The cost of an instruction like this one, if it has been measured. The table lives as long as the
// process: a model planned for another budget or batch shares most of its kinds.
struct Known {
  Instruction instruction;
  std::vector<bool> outside;  // which of its inputs lie outside the step
  bool in_place;
  int threads;
  Cost cost;
  int rounds = 1;
};

// Measures it unless so many rounds have done so.
Cost measured_in(int rounds, const Planned& planned, Scratch& scratch) {
  const auto& [instruction, in_place] = planned;
  const std::vector<bool> outside = scratch.outside(instruction);
  const int threads = num_threads();
  static std::mutex mutex;
  static std::unordered_map<const OpDef*, std::vector<Known>> table;
  const std::scoped_lock lock(mutex);
  std::vector<Known>& known = table[instruction.op];
  for (Known& k : known) {
    if (k.in_place != in_place || k.threads != threads || k.outside != outside ||
        !same_kind(k.instruction, instruction))
      continue;
    if (instruction.op->mutates && !scratch.has_room_for_update(planned)) return k.cost;
    for (; k.rounds < rounds; ++k.rounds) k.cost = lesser(k.cost, measured(planned, scratch));
    return k.cost;
  }
  if (instruction.op->mutates && !scratch.has_room_for_update(planned))
    return modelled(instruction);
  known.push_back({instruction, outside, in_place, threads, measured(planned, scratch)});
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

Cost lesser(const Cost& a, const Cost& b) {
  Cost less{.near = std::min(a.near, b.near), .far = std::min(a.far, b.far), .later = {}};
  for (size_t k = 0; k < std::min(a.later.size(), b.later.size()); ++k)
    less.later.push_back(std::min(a.near + a.later[k], b.near + b.later[k]) - less.near);
  less.shared = std::min(a.near + a.shared, b.near + b.shared) - less.near;
  return less;
}

std::vector<Cost> instruction_costs(const Program& program, CostModel model) {
  std::vector<Cost> costs;
  if (model == CostModel::model || program.device == Device::null) {  // which runs nothing
    for (const Instruction& instruction : program.instructions)
      costs.push_back(modelled(instruction));
    return costs;
  }
  std::vector<Lifetime> lives = lifetimes(program);
  const std::vector<int> home = fold_in_place(program, lives);
  const AllocatorScope scope(std::make_shared<PooledAllocator>(provider_of(program.device)));
  std::vector<Planned> planned;
  for (const Instruction& instruction : program.instructions) {
    const int out = instruction.out.empty() ? -1 : instruction.out[0].buffer;
    planned.push_back({instruction, out >= 0 && home[static_cast<size_t>(out)] != out});
  }
  Scratch scratch(program, planned);
  for (int rounds = 1; rounds <= kRounds; ++rounds) {
    costs.clear();
    for (const Planned& p : planned) costs.push_back(measured_in(rounds, p, scratch));
  }
  return costs;
}

}  // namespace plimsoll
