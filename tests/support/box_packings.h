// Boxes for the tests of placement, and a look at every pair of what was placed.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "memory/layout/offsets.h"

namespace plimsoll {

inline int64_t height_of(std::span<const Box> boxes, const std::vector<int64_t>& offsets) {
  int64_t height = 0;
  for (size_t i = 0; i < boxes.size(); ++i) height = std::max(height, offsets[i] + boxes[i].bytes);
  return height;
}

inline void expect_no_overlap(std::span<const Box> boxes, const std::vector<int64_t>& offsets) {
  ASSERT_EQ(offsets.size(), boxes.size());
  for (size_t a = 0; a < boxes.size(); ++a) {
    ASSERT_GE(offsets[a], 0);
    for (size_t b = 0; b < a; ++b) {
      const bool share_time =
          std::max(boxes[a].begin, boxes[b].begin) < std::min(boxes[a].end, boxes[b].end);
      const bool share_bytes = std::max(offsets[a], offsets[b]) <
                               std::min(offsets[a] + boxes[a].bytes, offsets[b] + boxes[b].bytes);
      ASSERT_FALSE(share_time && share_bytes) << "boxes " << b << " and " << a;
    }
  }
}

// The pieces of a rectangle `height` bytes high, cut across where it is possible: they fill it, so
// that no other height will do, and are hard to put together again.
inline std::vector<Box> cut_rectangle(uint32_t seed, int pieces, int instants, int64_t height) {
  std::mt19937 random(seed);
  std::vector<Box> boxes{{height, 0, instants}};
  while (static_cast<int>(boxes.size()) < pieces) {
    Box& box = boxes[random() % boxes.size()];
    Box rest = box;
    if (random() % 2 && box.end - box.begin > 1) {
      rest.begin = box.end = box.begin + 1 + static_cast<int>(random() % (box.end - box.begin - 1));
    } else if (box.bytes > 1) {
      rest.bytes = 1 + static_cast<int64_t>(random() % (box.bytes - 1));
      box.bytes -= rest.bytes;
    } else {
      continue;
    }
    boxes.push_back(rest);
  }
  std::shuffle(boxes.begin(), boxes.end(), random);
  return boxes;
}

// A file `id,lower,upper,size` with half-open lifetimes.
inline std::vector<Box> read_boxes(const std::string& path) {
  std::ifstream file(path);
  std::vector<Box> boxes;
  std::string line;
  std::getline(file, line);
  EXPECT_EQ(line, "id,lower,upper,size") << path;
  while (std::getline(file, line)) {
    long long id, lower, upper, size;
    EXPECT_EQ(std::sscanf(line.c_str(), "%lld,%lld,%lld,%lld", &id, &lower, &upper, &size), 4);
    boxes.push_back({size, static_cast<int>(lower), static_cast<int>(upper)});
  }
  return boxes;
}

}  // namespace plimsoll
