#include "memory/passes/joining.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <span>

#include "memory/layout/lifetimes.h"

namespace plimsoll {
namespace {

bool writes(const Instruction& instruction, size_t input) {
  return has(instruction.op->mutates, static_cast<int>(input));
}

bool is_update(const Instruction& instruction) { return instruction.op->mutates != 0; }

// Whether a and b run in one order only: one writes what the other touches.
bool ordered(const Instruction& a, const Instruction& b) {
  const auto touches = [](const Instruction& x, int buffer) {
    const auto is = [&](const Operand& operand) { return operand.buffer == buffer; };
    return std::ranges::any_of(x.in, is) || std::ranges::any_of(x.out, is);
  };
  const auto writes_what = [&](const Instruction& x, const Instruction& y) {
    for (size_t k = 0; k < x.in.size(); ++k)
      if (writes(x, k) && touches(y, x.in[k].buffer)) return true;
    return std::ranges::any_of(x.out, [&](const Operand& out) { return touches(y, out.buffer); });
  };
  return writes_what(a, b) || writes_what(b, a);
}

bool alike(const Instruction& a, const Instruction& b) {
  return a.op == b.op && a.attrs == b.attrs && a.in.size() == b.in.size();
}

// Bytes in the arena at each instruction.
std::vector<int64_t> held(const Program& program, const std::vector<Lifetime>& lives) {
  std::vector<int64_t> bytes;
  for (const Instruction& instruction : program.instructions)
    bytes.push_back(block_bytes(instruction.workspace));
  for (size_t b = 0; b < lives.size(); ++b)
    for (int i = lives[b].begin; i < lives[b].end && i < std::ssize(bytes); ++i)
      bytes[i] += block_bytes(program.buffers[b].bytes);
  return bytes;
}

// Updates that wait, those that are alike side by side.
class Waiting {
 public:
  void add(Instruction update) {
    for (const Operand& in : update.in) reads_.insert(in.buffer);
    const auto like = std::find_if(updates_.rbegin(), updates_.rend(),
                                   [&](const Instruction& u) { return alike(u, update); });
    updates_.insert(like == updates_.rend() ? updates_.end() : like.base(), std::move(update));
  }
  bool must_run_before(const Instruction& instruction) const {
    return std::ranges::any_of(updates_,
                               [&](const Instruction& u) { return ordered(u, instruction); });
  }
  // Bytes of what they read that nobody else needs at instruction i or later.
  int64_t keep(const Program& program, const std::vector<Lifetime>& lives, int i) const {
    int64_t bytes = 0;
    for (const int buffer : reads_)
      if (lives[buffer].end <= i && program.buffers[buffer].kind == Buffer::Kind::temporary)
        bytes += block_bytes(program.buffers[buffer].bytes);
    return bytes;
  }
  void leave(std::vector<Instruction>& order) {
    std::ranges::move(updates_, std::back_inserter(order));
    *this = {};
  }

 private:
  std::vector<Instruction> updates_;
  std::set<int> reads_;  // buffers
};

}  // namespace

Program update_together(Program program, int64_t bytes) {
  std::vector<Lifetime> lives = lifetimes(program);
  fold_in_place(program, lives);
  const std::vector<int64_t> held_at = held(program, lives);
  std::vector<Instruction> order;
  Waiting waiting;
  for (int i = 0; i < std::ssize(program.instructions); ++i) {
    Instruction& instruction = program.instructions[i];
    if (waiting.must_run_before(instruction) ||
        held_at[i] + waiting.keep(program, lives, i) > bytes)
      waiting.leave(order);
    if (is_update(instruction))
      waiting.add(std::move(instruction));
    else
      order.push_back(std::move(instruction));
  }
  waiting.leave(order);
  program.instructions = std::move(order);
  return program;
}

int joined_until(const Program& program, int first) {
  const auto& instructions = program.instructions;
  const auto count = static_cast<int>(instructions.size());
  const Instruction& a = instructions[first];
  int end = first + 1;
  if (!is_update(a) || a.workspace > 0) return end;
  const auto can_join = [&](const Instruction& b) {
    const auto before = std::span(instructions).subspan(first, end - first);
    return alike(a, b) &&
           std::ranges::none_of(before, [&](const Instruction& x) { return ordered(x, b); });
  };
  while (end < count && can_join(instructions[end])) ++end;
  return end;
}

}  // namespace plimsoll
