// Rewrites that make one instruction of several, in no more bytes. What runs at once holds at once
// what its members held one after another, or for longer: where the plan would grow, some are left
// out.
//
//   program = rewrite_no_larger(program, [&](const LeftOut& left_out) {
//     return chains(program, left_out);
//   });
#pragma once

#include <functional>
#include <set>

#include "core/program.h"

namespace plimsoll::fusion {

using Members = std::vector<int>;  // numbers of instructions, rising
using LeftOut = std::set<Members>;

struct Rewrite {
  Members members;  // are gone, ...
  int place = 0;    // but for this one, where `made` stands instead
  Instruction made;
};

// The program with all of these, of which none shares a member with another, whatever they take.
// Buffers keep their numbers, those that nobody uses any more too.
Program rewritten(const Program& program, std::span<const Rewrite> rewrites);

// The program with those rewrites with which its plan takes no more bytes than without them; what
// nobody uses is gone. Plans are compared without that too, and with updates early. `find` is pure:
// it returns all rewrites but those whose members are left out, and may return others in their
// place. All are tried first. While they do not fit, one is left out: that which runs at the peak,
// or the widest around it, or the widest. Then each of these, but for the last, is tried again. So
// no more than two plans are made for each rewrite that was found.
Program rewrite_no_larger(const Program& program,
                          const std::function<std::vector<Rewrite>(const LeftOut&)>& find);

}  // namespace plimsoll::fusion
