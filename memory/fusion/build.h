// From the instructions of a group to one fused instruction.
//
//   const std::vector<int> last_use = last_uses(program);
//   Instruction fused = build(program, last_use, group);
#pragma once

#include "memory/fusion/fused.h"
#include "memory/fusion/groups.h"

namespace plimsoll::fusion {

// The last instruction that reads or writes each buffer; the number of instructions for a result.
std::vector<int> last_uses(const Program& program);

// `group` is one that find_groups() found in the program.
Instruction build(const Program& program, const std::vector<int>& last_use, const Group& group);

}  // namespace plimsoll::fusion
