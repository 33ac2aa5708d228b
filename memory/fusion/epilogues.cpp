#include "memory/fusion/epilogues.h"

#include <algorithm>

#include "core/operands.h"
#include "memory/dead_code.h"
#include "memory/early_update.h"
#include "memory/plan.h"

namespace plimsoll {
namespace {

// Numbers of instructions of the program as it was.
struct Pair {
  int product, after;
  bool operator==(const Pair&) const = default;
};

bool touches(const std::vector<Operand>& operands, int buffer) {
  return std::ranges::find(operands, buffer, &Operand::buffer) != operands.end();
}

class Joiner {
 public:
  Joiner(const Program& program, std::span<const EpilogueRule> rules)
      : program_(program),
        rules_(rules),
        gone_(program.instructions.size()),
        maker_(program.buffers.size(), -1) {
    for (int i = 0; i < size(); ++i)
      for (const Operand& out : at(i).out) maker_[out.buffer] = i;
  }

  // Those that `allowed` has; all, where it is null.
  void join(const std::vector<Pair>* allowed) {
    for (int i = 0; i < size(); ++i)
      for (int j = i + 1; j < size(); ++j) {
        if (gone_[i]) break;
        if (!gone_[j] && join(i, j, allowed)) j = i;  // what is joined may be joined again
      }
  }

  const std::vector<Pair>& joined() const { return joined_; }
  Program result() && {
    size_t i = 0;
    std::erase_if(program_.instructions, [&](const Instruction&) { return gone_[i++]; });
    return remove_dead(std::move(program_));
  }

 private:
  int size() const { return static_cast<int>(program_.instructions.size()); }
  Instruction& at(int i) { return program_.instructions[i]; }

  bool join(int i, int j, const std::vector<Pair>* allowed) {
    for (const EpilogueRule& rule : rules_) {
      if (rule.product != at(i).op || rule.after != at(j).op || !can_come(j, i)) continue;
      if (std::ranges::count(at(j).in, at(i).out[0].buffer, &Operand::buffer) > 1) continue;
      if (allowed && std::ranges::find(*allowed, Pair{i, j}) == allowed->end()) continue;
      std::optional<Instruction> both = rule.join(at(i), at(j), is_kept(i, j));
      if (!both) continue;
      both->workspace = workspace_of(*both);
      for (const Operand& out : at(j).out) maker_[out.buffer] = i;
      at(i) = *std::move(both);
      gone_[j] = true;
      joined_.push_back({i, j});
      return true;
    }
    return false;
  }

  // Whether instruction j could run as early as i: what it reads is made, and not changed later.
  bool can_come(int j, int i) {
    return std::ranges::all_of(at(j).in, [&](const Operand& in) {
      if (maker_[in.buffer] > i) return false;
      for (int k = i; k < j; ++k)
        for (size_t n = 0; n < at(k).in.size(); ++n)
          if (at(k).in[n].buffer == in.buffer && has(at(k).op->mutates, static_cast<int>(n)))
            return false;
      return true;
    });
  }

  // Whether anybody but j reads the first output of i.
  bool is_kept(int i, int j) {
    const int buffer = at(i).out[0].buffer;
    if (touches(program_.results, buffer)) return true;
    for (int k = i + 1; k < size(); ++k)
      if (k != j && !gone_[k] && touches(at(k).in, buffer)) return true;
    return false;
  }

  Program program_;
  std::span<const EpilogueRule> rules_;
  std::vector<bool> gone_;
  std::vector<int> maker_;  // of each buffer; -1: it comes from outside
  std::vector<Pair> joined_;
};

Program with(const Program& program, std::span<const EpilogueRule> rules,
             const std::vector<Pair>& pairs) {
  Joiner joiner(program, rules);
  joiner.join(&pairs);
  return std::move(joiner).result();
}

}  // namespace

Program join_epilogues(Program program, std::span<const EpilogueRule> rules) {
  Joiner joiner(program, rules);
  joiner.join(nullptr);
  if (joiner.joined().empty()) return program;
  const auto arena = [](const Program& p) { return make_plan(update_early(p)).arena_bytes; };
  const int64_t most = arena(program);
  // Of pairs that make the plan larger, halves are tried.
  std::vector<Pair> accepted;
  const auto accept = [&](const auto& self, std::span<const Pair> pairs) -> void {
    std::vector<Pair> more = accepted;
    more.insert(more.end(), pairs.begin(), pairs.end());
    if (arena(with(program, rules, more)) <= most) {
      accepted = std::move(more);
    } else if (pairs.size() > 1) {
      self(self, pairs.first(pairs.size() / 2));
      self(self, pairs.subspan(pairs.size() / 2));
    }
  };
  accept(accept, joiner.joined());
  return with(program, rules, accepted);
}

}  // namespace plimsoll
