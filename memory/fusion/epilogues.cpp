#include "memory/fusion/epilogues.h"

#include <algorithm>

#include "core/operands.h"
#include "memory/fusion/no_larger.h"

namespace plimsoll {
namespace fusion {
namespace {

bool touches(const std::vector<Operand>& operands, int buffer) {
  return std::ranges::find(operands, buffer, &Operand::buffer) != operands.end();
}

class Joiner {
 public:
  Joiner(const Program& program, std::span<const EpilogueRule> rules, const LeftOut& left_out)
      : program_(program),
        rules_(rules),
        left_out_(left_out),
        instructions_(program.instructions),
        maker_(program.buffers.size(), -1) {
    for (int i = 0; i < size(); ++i) {
      members_.push_back({i});
      for (const Operand& out : at(i).out) maker_[out.buffer] = i;
    }
  }

  std::vector<Rewrite> rewrites() {
    for (int i = 0; i < size(); ++i)
      for (int j = i + 1; j < size() && !members_[i].empty(); ++j)
        if (!members_[j].empty() && join(i, j)) j = i;  // what is joined may be joined again
    std::vector<Rewrite> found;
    for (int i = 0; i < size(); ++i)
      if (members_[i].size() > 1) found.push_back({members_[i], i, at(i)});
    return found;
  }

 private:
  int size() const { return static_cast<int>(instructions_.size()); }
  const Instruction& at(int i) const { return instructions_[i]; }

  bool join(int i, int j) {
    for (const EpilogueRule& rule : rules_) {
      if (rule.product != at(i).op || rule.after != at(j).op || !can_come(j, i)) continue;
      if (std::ranges::count(at(j).in, at(i).out[0].buffer, &Operand::buffer) > 1) continue;
      Members both = members_[i];
      both.insert(std::ranges::upper_bound(both, j), j);
      if (left_out_.contains(both)) continue;
      std::optional<Instruction> made = rule.join(at(i), at(j), is_kept(i, j));
      if (!made) continue;
      made->workspace = workspace_of(*made);
      for (const Operand& out : at(j).out) maker_[out.buffer] = i;
      instructions_[i] = *std::move(made);
      members_[i] = std::move(both);
      members_[j].clear();
      return true;
    }
    return false;
  }

  // Whether instruction j could run as early as i: what it reads is made, and not changed later.
  bool can_come(int j, int i) const {
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
  bool is_kept(int i, int j) const {
    const int buffer = at(i).out[0].buffer;
    if (touches(program_.results, buffer)) return true;
    for (int k = i + 1; k < size(); ++k)
      if (k != j && !members_[k].empty() && touches(at(k).in, buffer)) return true;
    return false;
  }

  const Program& program_;
  std::span<const EpilogueRule> rules_;
  const LeftOut& left_out_;
  std::vector<Instruction> instructions_;  // products as they are joined
  std::vector<Members> members_;           // of each; none: it was joined to another
  std::vector<int> maker_;                 // of each buffer; -1: it comes from outside
};

}  // namespace
}  // namespace fusion

Program join_epilogues(Program program, std::span<const EpilogueRule> rules) {
  using namespace fusion;
  return rewrite_no_larger(program, [&](const LeftOut& left_out) {
    return Joiner(program, rules, left_out).rewrites();
  });
}

}  // namespace plimsoll
