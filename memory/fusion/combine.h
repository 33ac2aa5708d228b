// Combining: several ops that follow each other become one op that does what they do (CombinedOp):
// batch norm, the sum with a residual and relu; the gradients of these.
//
//   program = combine(std::move(program));
#pragma once

#include <set>

#include "core/combined_op.h"
#include "core/program.h"

namespace plimsoll {

// The program with its chains combined. Every value that is left has its bits, and the plan of the
// result takes no more bytes than that of the program: of chains that would, fewer are combined.
Program combine(Program program);

namespace fusion {

struct Chain {
  const CombinedOp* combined = nullptr;
  std::vector<int> members;  // numbers of instructions, rising; all run where the first one stands
  std::vector<int> reads;    // through which input each reads the one before; of the first: -1
};

// A combined op and the instruction that would be its first member.
using Start = std::pair<const CombinedOp*, int>;

// The chains in the order of their first members, but for those that are left out; none shares a
// member with another. In each
//  - nobody else reads what members make, but for outputs of the combined op;
//  - all that members read lies dense, in no broadcast, and is there when the first one runs.
std::vector<Chain> find_chains(const Program& program, std::span<const CombinedOp> combined,
                               const std::set<Start>& left_out = {});

// The program with these chains combined, whatever they take.
Program rewrite(const Program& program, std::span<const Chain> chains);

}  // namespace fusion
}  // namespace plimsoll
