// From groups of instructions to fused ones.
//
//   const std::vector<Rewrite> rewrites = build(program, find_groups(program, passes));
#pragma once

#include "memory/fusion/fused.h"
#include "memory/fusion/groups.h"
#include "memory/fusion/no_larger.h"

namespace plimsoll::fusion {

// Of groups that find_groups() found in the program. Each runs where its last member stands.
std::vector<Rewrite> build(const Program& program, std::span<const Group> groups);

}  // namespace plimsoll::fusion
