// Which instructions of a program can run as one: found greedily along its values, in order.
//
//   for (const Group& group : find_groups(program, kFuseAll)) ... group.members ...
#pragma once

#include "memory/fusion/layout.h"
#include "memory/fusion/options.h"

namespace plimsoll::fusion {

// The matrix of elements that instructions run over.
struct Grid {
  int64_t elements = 0;
  int64_t columns = 0;      // 0: any number
  bool whole_rows = false;  // an op of rows is among them

  int64_t row() const { return columns ? columns : elements; }
};

struct Group {
  Grid grid;
  std::vector<int> members;  // numbers of instructions, rising; all run where the last one stands
};

constexpr size_t kMostMembers = 16;  // a longer chain is cut: its tiles would not stay in the cache

// Of a row that a block of a GPU holds in its registers: 32 elements in each thread. There, ops
// over longer rows stay alone.
constexpr int64_t kMostHeldColumns = 8192;

// The groups of at least `least_members`, in the order of their last members. None shares a member
// with another. In each group
//  - every op can be run tile by tile (OpDef::tiling) and needs no scratch of its own; on a GPU one
//    of them may have sums over the rows (sums_columns());
//  - each reads what another member makes element by element, or row by row;
//  - nobody outside reads in between what a member makes, or writes into what it reads.
std::vector<Group> find_groups(const Program& program, Fusion passes, size_t least_members = 2);

}  // namespace plimsoll::fusion
