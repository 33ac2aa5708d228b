#include "memory/fusion/combine.h"

#include <algorithm>

#include "core/combined_op.h"
#include "core/operands.h"
#include "memory/fusion/no_larger.h"

namespace plimsoll {
namespace fusion {
namespace {

using Place = CombinedOp::Place;

struct Chain {
  const CombinedOp* combined = nullptr;
  Members members;         // all run where the first one stands
  std::vector<int> reads;  // through which input each reads the one before; of the first: -1
};

Instruction build(const Program& program, const Chain& chain) {
  const CombinedOp& combined = *chain.combined;
  const auto member = [&](int m) -> const Instruction& {
    return program.instructions[chain.members[m]];
  };
  Instruction made{.op = combined.op, .attrs = member(0).attrs};
  for (const Place& place : combined.in) {
    const bool other = place.number == CombinedOp::kOtherInput;
    made.in.push_back(
        member(place.member).in[other ? 1 - chain.reads[place.member] : place.number]);
  }
  for (const Place& place : combined.out)
    made.out.push_back(member(place.member).out[place.number]);
  made.workspace = workspace_of(made);
  return made;
}

// Finds the chains in the order of their first members, but for those that are left out; none
// shares a member with another. In each
//  - nobody else reads what members make, but for outputs of the combined op;
//  - all that members read lies dense, in no broadcast, and is there when the first one runs.
class Finder {
 public:
  Finder(const Program& program, const LeftOut& left_out)
      : program_(program),
        left_out_(left_out),
        maker_(program.buffers.size(), -1),
        is_result_(program.buffers.size()),
        readers_(program.buffers.size()),
        taken_(program.instructions.size()) {
    for (int i = 0; i < std::ssize(program.instructions); ++i) {
      for (const Operand& in : at(i).in) readers_[in.buffer].push_back(i);
      for (const Operand& out : at(i).out) maker_[out.buffer] = i;
    }
    for (const Operand& result : program.results) is_result_[result.buffer] = true;
  }

  std::vector<Rewrite> rewrites() {
    std::vector<Rewrite> found;
    for (int i = 0; i < std::ssize(program_.instructions); ++i)
      for (const CombinedOp& op : combined_ops()) {
        Chain chain{&op, {i}, {-1}};
        if (!can_be(op, 0, i) || !extend(chain)) continue;
        for (const int member : chain.members) taken_[member] = true;
        found.push_back({chain.members, chain.members[0], build(program_, chain)});
        break;
      }
    return found;
  }

 private:
  const Instruction& at(int i) const { return program_.instructions[i]; }

  bool can_be(const CombinedOp& op, size_t member, int i) const {
    return !taken_[i] && op.members[member].name == at(i).op->name &&
           (member == 0 || at(i).attrs == Attrs{});
  }

  // Adds members until the chain is complete, along any of the readers.
  bool extend(Chain& chain) const {
    const CombinedOp& op = *chain.combined;
    const size_t next = chain.members.size();
    if (next == op.members.size()) return is_good(chain);
    const Operand& made = at(chain.members.back()).out[0];
    for (const int reader : readers_[made.buffer]) {
      const int input = can_be(op, next, reader) ? input_of(reader, made) : -1;
      if (input < 0 || !has(op.members[next].reads, input)) continue;
      chain.members.push_back(reader);
      chain.reads.push_back(input);
      if (extend(chain)) return true;
      chain.members.pop_back();
      chain.reads.pop_back();
    }
    return false;
  }

  // The only input that looks into what was made, and sees it as it was made; -1: there is none.
  int input_of(int reader, const Operand& made) const {
    const auto& in = at(reader).in;
    if (std::ranges::count(in, made.buffer, &Operand::buffer) != 1) return -1;
    const auto found = std::ranges::find(in, made);
    return found == in.end() ? -1 : static_cast<int>(found - in.begin());
  }

  bool is_good(const Chain& chain) const {
    if (left_out_.contains(chain.members)) return false;
    const CombinedOp& op = *chain.combined;
    for (size_t m = 0; m < op.members.size(); ++m) {
      const int i = chain.members[m];
      for (int k = 0; k < std::ssize(at(i).in); ++k)
        if (k != chain.reads[m] && !is_there(at(i), k, i, chain.members[0])) return false;
      for (int k = 0; k < std::ssize(at(i).out); ++k)
        if (!leaves(op, static_cast<int>(m), k) && is_wanted(chain, m, at(i).out[k])) return false;
    }
    return true;
  }

  // Whether instruction `first` could read what i reads through input k, as it lies in memory.
  bool is_there(const Instruction& instruction, int k, int i, int first) const {
    const Operand& in = instruction.in[k];
    const auto writes = [&](int other) {
      if (other <= first || other >= i) return false;
      const auto& operands = at(other).in;
      for (int n = 0; n < std::ssize(operands); ++n)
        if (operands[n].buffer == in.buffer && has(at(other).op->mutates, n)) return true;
      return false;
    };
    const bool broadcasts =
        has(instruction.op->strided, k) && in.meta.shape != instruction.out[0].meta.shape;
    return maker_[in.buffer] < first && is_dense(in) && !broadcasts &&
           std::ranges::none_of(readers_[in.buffer], writes);
  }

  static bool leaves(const CombinedOp& op, int member, int number) {
    return std::ranges::any_of(
        op.out, [&](const Place& p) { return p.member == member && p.number == number; });
  }

  // Whether anybody but the next member reads it.
  bool is_wanted(const Chain& chain, size_t m, const Operand& made) const {
    const auto is_other = [&](int reader) {
      return m + 1 == chain.members.size() || reader != chain.members[m + 1];
    };
    return is_result_[made.buffer] || std::ranges::any_of(readers_[made.buffer], is_other);
  }

  const Program& program_;
  const LeftOut& left_out_;
  std::vector<int> maker_;  // of each buffer; -1: it comes from outside
  std::vector<bool> is_result_;
  std::vector<std::vector<int>> readers_;  // those that write in place among them
  std::vector<bool> taken_;                // instructions that are in a chain
};

}  // namespace
}  // namespace fusion

Program combine(Program program) {
  using namespace fusion;
  return rewrite_no_larger(
      program, [&](const LeftOut& left_out) { return Finder(program, left_out).rewrites(); });
}

}  // namespace plimsoll
