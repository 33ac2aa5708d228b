#include "memory/recompute/costs.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <mutex>
#include <unordered_map>

#include "core/base/hash.h"
#include "core/cpu/caches.h"
#include "core/cpu/others.h"
#include "core/cpu/parallel.h"
#include "core/cuda/seam/cuda.h"
#include "core/engine/apply.h"
#include "core/engine/operands.h"
#include "memory/layout/lifetimes.h"
#include "memory/pool/pooled_allocator.h"
#include "memory/recompute/cost_file.h"

namespace plimsoll {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Instructions that cost the same. `in_place`: the first output lies on the input that the op
// declares. That is half the memory to go through: relu takes 0.6 of the time.
struct Kind {
  Instruction instruction;
  bool in_place;
  int threads;
  Cost cost{};
  bool ran = false, is_kept = false;  // for the next process

  // The same in each process; nothing where it cannot be known to be.
  std::optional<uint64_t> hash() const {
    const std::optional<uint64_t> attrs = instruction.attrs.hash();
    // Of another op there may be one that is called the same.
    if (!attrs || !std::ranges::count(all_ops(), instruction.op)) return std::nullopt;
    std::string text = cat(instruction.op->name, " ", in_place, " ", threads, " ", *attrs);
    for (const auto* operands : {&instruction.in, &instruction.out})
      for (const Operand& operand : *operands)
        text += cat(operands == &instruction.in ? " in " : " out ", operand.meta, operand.strides);
    return fnv1a(text);
  }

  bool operator==(const Kind& other) const {
    const auto same = [](const std::vector<Operand>& x, const std::vector<Operand>& y) {
      return std::ranges::equal(x, y, [](const Operand& a, const Operand& b) {
        return a.meta == b.meta && a.strides == b.strides;
      });
    };
    const Instruction &a = instruction, &b = other.instruction;
    return in_place == other.in_place && threads == other.threads && a.op == b.op &&
           a.attrs == b.attrs && same(a.in, b.in) && same(a.out, b.out);
  }
};

// An instruction on scratch memory that is full of zeros. What is outside the step, as parameters
// are, is read where it is.
class Bench {
 public:
  // Without scratch memory it only says how many bytes are needed.
  Bench(const Program& program, const Kind& kind, std::byte* scratch)
      : device_(program.device), kind_(kind) {
    const Instruction& instruction = kind.instruction;
    std::unordered_map<int, std::byte*> at;  // of each buffer
    const auto take = [&](int64_t bytes) {
      std::byte* const begin = scratch ? scratch + bytes_ : nullptr;
      bytes_ += block_bytes(bytes);
      places_.emplace_back(begin, static_cast<size_t>(bytes));
      return begin;
    };
    const auto lay = [&](const std::vector<Operand>& operands, std::vector<View>& views) {
      for (const Operand& operand : operands) {
        const Buffer& buffer = program.buffers[static_cast<size_t>(operand.buffer)];
        if (kind.in_place && &operand == instruction.out.data()) {
          at[operand.buffer] =
              at[instruction.in[static_cast<size_t>(instruction.op->inplace)].buffer];
        } else if (!at.contains(operand.buffer)) {
          const bool outside = buffer.kind == Buffer::Kind::external;
          at[operand.buffer] = outside ? buffer.storage->data() : take(buffer.bytes);
          if (outside) places_.emplace_back(at[operand.buffer], static_cast<size_t>(buffer.bytes));
        }
        if (scratch)
          views.push_back({at[operand.buffer] + operand.offset * size_of(operand.meta.dtype),
                           operand.meta, operand.strides});
      }
    };
    lay(instruction.in, in_);
    inputs_ = {scratch, static_cast<size_t>(bytes_)};
    lay(instruction.out, out_);
    workspace_ = {take(instruction.workspace), static_cast<size_t>(instruction.workspace)};
  }

  int64_t bytes() const { return bytes_; }  // of the scratch memory

  // All of it was written a moment ago, by all threads, as ops write.
  double near() {
    zero();
    return run();
  }
  double far() {
    zero();
    for (const std::span<std::byte> place : places_)
      drop_from_caches(place.data(), std::ssize(place));
    return run();
  }

 private:
  void zero() {
    if (device_ == Device::cpu) {
      bring_near(inputs_.data(), std::ssize(inputs_));
    } else if (kind_.in_place || !zeroed_) {
      zeroed_ = true;
      const std::vector<std::byte> zeros(inputs_.size());
      copy_bytes(inputs_.data(), device_, zeros.data(), Device::cpu, std::ssize(zeros));
    }
  }
  double run() {
    const Kernel kernel = kernel_for(*kind_.instruction.op, device_);
    synchronize(device_);
    const Clock::time_point start = Clock::now();
    kernel({in_, out_, kind_.instruction.attrs, workspace_});
    synchronize(device_);
    return seconds_since(start);
  }

  const Device device_;
  const Kind& kind_;
  int64_t bytes_ = 0;
  bool zeroed_ = false;
  std::vector<View> in_, out_;
  std::span<std::byte> inputs_, workspace_;
  std::vector<std::span<std::byte>> places_;  // all that it touches
};

Cost modelled(const Instruction& instruction) {
  const double seconds = modelled_seconds(instruction);
  return {.near = seconds, .far = seconds};
}

// How many times as long as the model says those take that were measured. It begins with a
// millisecond of which the model is right: what takes less says nothing of what takes longer.
class Ratios {
 public:
  void add(const Instruction& instruction, double seconds) {
    for (Sum* const sum : {&all_, &of_op_[instruction.op]}) {
      sum->measured += seconds;
      sum->modelled += modelled_seconds(instruction);
    }
  }
  double seconds(const Instruction& instruction) const {
    const auto own = of_op_.find(instruction.op);
    const Sum& sum = own != of_op_.end() ? own->second : all_;
    return modelled_seconds(instruction) * sum.measured / sum.modelled;
  }

 private:
  struct Sum {
    double measured = 1e-3, modelled = 1e-3;
  };
  Sum all_;
  std::unordered_map<const OpDef*, Sum> of_op_;
};

// Rounds through all kinds, as what others on the machine disturb for a while takes longer, never
// less: the least counts. In the first each runs once, and the others end when time is up. What ran
// only in the first was cold: it is kept where there would never be time for more.
void measure(const Program& program, std::vector<Kind*> kinds) {
  constexpr int kRounds = 6, kRuns = 3;  // of each kind in a round but the first
  if (kinds.empty()) return;
  int64_t bytes = 0;
  for (const Kind* kind : kinds) bytes = std::max(bytes, Bench(program, *kind, nullptr).bytes());
  const AllocatorScope scope(std::make_shared<PooledAllocator>(provider_of(program.device)));
  const auto scratch = Storage::allocate(program.device, bytes, MemoryClass::workspace, "costs");
  std::ranges::stable_sort(kinds, {},
                           [](const Kind* kind) { return modelled_seconds(kind->instruction); });
  std::vector<Kind*> again;
  Ratios ratios, whole;         // of kernels, and of all that it takes to measure them
  synchronize(program.device);  // what kernels met before is not taken for an error of these
  const OthersLoad others;
  const Clock::time_point first = Clock::now();
  for (Kind* const kind : kinds) {
    const Clock::time_point begin = Clock::now();
    if (seconds_since(first) + whole.seconds(kind->instruction) > kMostMeasuringSeconds) continue;
    try {
      const double seconds = Bench(program, *kind, scratch->data()).near();
      kind->cost = {.near = seconds, .far = seconds};
      kind->is_kept = kRuns * seconds > kMeasuringSeconds;
      ratios.add(kind->instruction, seconds);
      again.push_back(kind);
    } catch (const ValueError&) {  // zeros are no valid input
      kind->cost = modelled(kind->instruction);
    } catch (const IndexError&) {
      kind->cost = modelled(kind->instruction);
    }
    kind->ran = true;
    whole.add(kind->instruction, seconds_since(begin));
  }
  for (Kind* const kind : kinds)
    if (!kind->ran) {
      const double seconds = ratios.seconds(kind->instruction);
      kind->cost = {.near = seconds, .far = seconds};
    }
  const Clock::time_point start = Clock::now();
  for (int round = 1; round < kRounds; ++round)
    for (Kind* const kind : again) {
      if (seconds_since(start) + kRuns * kind->cost.far > kMeasuringSeconds) continue;
      Bench bench(program, *kind, scratch->data());
      const double near = std::min(bench.near(), bench.near());
      Cost& cost = kind->cost;
      cost.near = std::min(cost.near, near);
      const double far = program.device == Device::cpu ? bench.far() : cost.near;
      cost.far = std::max(cost.near, round == 1 ? far : std::min(cost.far, far));
      kind->is_kept = true;
    }
  constexpr double kMany = 0.25;
  if (const double cores = others.cores(); cores >= kMany)
    for (Kind* const kind : kinds) kind->cost.others = cores;
}

}  // namespace

double arena_farness(int64_t arena_bytes) {
  const double own = std::log2(cache_bytes()),
               shared = std::log2(std::max(shared_cache_bytes(), 2 * cache_bytes()));
  const double arena = std::log2(std::max<int64_t>(arena_bytes, 1));
  return kFarthest * std::clamp((arena - own) / (shared - own), 0.0, 1.0);
}

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

std::vector<Cost> instruction_costs(const Program& program, CostModel model) {
  // What was measured, for as long as the process lives: a model that is planned for another budget
  // or batch shares most of its kinds.
  static std::mutex mutex;
  static std::unordered_map<const OpDef*, std::vector<Kind>> known;
  const std::scoped_lock lock(mutex);

  std::vector<Cost> costs;
  for (const Instruction& instruction : program.instructions)
    costs.push_back(modelled(instruction));
  if (model == CostModel::model || program.device == Device::null) return costs;  // runs nothing
  std::vector<Lifetime> lives = lifetimes(program);
  const std::vector<int> alias_root = fold_in_place(program, lives);
  std::deque<Kind> kinds;
  std::vector<std::pair<size_t, const Kind*>> measured;  // of each instruction
  for (size_t i = 0; i < costs.size(); ++i) {
    const Instruction& instruction = program.instructions[i];
    const auto is_empty = [](const Operand& operand) { return count(operand.meta.shape) == 0; };
    if (instruction.op->mutates || instruction.op->collective) continue;  // it cannot run by itself
    if (std::ranges::all_of(instruction.out, is_empty)) continue;
    const int out = instruction.out[0].buffer;
    Kind kind{instruction, alias_root[static_cast<size_t>(out)] != out, num_threads()};
    const std::vector<Kind>& before = known[instruction.op];
    if (const auto k = std::ranges::find(before, kind); k != before.end()) {
      costs[i] = k->cost;
      continue;
    }
    const auto k = std::ranges::find(kinds, kind);
    measured.emplace_back(i, k != kinds.end() ? &*k : &kinds.emplace_back(std::move(kind)));
  }
  const bool keeps = program.device == Device::cpu && !kinds.empty();
  const std::filesystem::path file = keeps ? cost_file() : std::filesystem::path();
  KnownCosts kept = file.empty() ? KnownCosts() : read_costs(file);
  std::vector<Kind*> unknown;
  for (Kind& kind : kinds) {
    const auto before = kept.find(kind.hash().value_or(0));
    if (before == kept.end())
      unknown.push_back(&kind);
    else
      kind.cost = before->second;
  }
  measure(program, unknown);
  for (const auto& [i, kind] : measured) costs[i] = kind->cost;
  for (const Kind* const kind : unknown)
    if (const auto hash = kind->hash(); hash && kind->is_kept) kept[*hash] = kind->cost;
  if (!unknown.empty()) write_costs(file, kept);
  for (Kind& kind : kinds) known[kind.instruction.op].push_back(std::move(kind));
  return costs;
}

}  // namespace plimsoll
