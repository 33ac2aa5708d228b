// PackingProblem: boxes and a capacity in the form that the search for exact offsets works on.
//
//   const PackingProblem problem(boxes, 1 << 20);
//   problem.size[i];                  // bytes / problem.unit
//   problem.first[i], problem.last[i] // sections: box i is alive in [first, last)
//
// Bytes are counted in units of their greatest common divisor. Time is cut into sections: the
// largest sets of boxes that are alive together, in order of time. Every other moment's set is part
// of one of these, so two boxes overlap in time exactly when they share a section.
#pragma once

#include <span>
#include <vector>

#include "memory/layout/offsets.h"

namespace plimsoll {

struct PackingProblem {
  PackingProblem(std::span<const Box> boxes, int64_t capacity_bytes);

  int boxes() const { return static_cast<int>(size.size()); }

  int64_t unit = 1;      // bytes
  int64_t capacity = 0;  // in units, rounded down
  std::vector<int64_t> size;
  std::vector<int> first, last;            // sections, half-open
  std::vector<int64_t> total;              // of each section: the sizes alive in it
  std::vector<std::vector<int>> overlaps;  // of each box: the others that are alive with it
  std::vector<int> twin;  // of each box: the one before it with its size and sections, or -1
};

// The boxes in groups, by index, such that no two of different groups are alive together.
std::vector<std::vector<int>> independent_groups(std::span<const Box> boxes);

}  // namespace plimsoll
