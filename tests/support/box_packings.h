// Boxes for the tests of placement, and a look at every pair of what was placed.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <tuple>
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

// The same for many boxes: those that are alive, by their place, as time goes on.
inline void expect_no_overlap_in_time(std::span<const Box> boxes,
                                      const std::vector<int64_t>& offsets) {
  ASSERT_EQ(offsets.size(), boxes.size());
  std::vector<std::tuple<int, bool, size_t>> events;  // those that end go first
  for (size_t i = 0; i < boxes.size(); ++i) {
    events.emplace_back(boxes[i].begin, true, i);
    events.emplace_back(boxes[i].end, false, i);
  }
  std::sort(events.begin(), events.end());
  std::map<int64_t, int64_t> alive;  // bottom and top
  for (const auto& [instant, begins, i] : events) {
    if (!begins) {
      alive.erase(offsets[i]);
      continue;
    }
    ASSERT_GE(offsets[i], 0);
    const auto above = alive.lower_bound(offsets[i]);
    ASSERT_TRUE(above == alive.end() || above->first >= offsets[i] + boxes[i].bytes) << i;
    ASSERT_TRUE(above == alive.begin() || std::prev(above)->second <= offsets[i]) << i;
    alive[offsets[i]] = offsets[i] + boxes[i].bytes;
  }
}

// The step of a language model of so many layers, about 67 boxes each: what is saved for the
// backward pass, gradients that are all needed at the end, and what is needed for a moment.
inline std::vector<Box> language_model(uint32_t seed, int layers) {
  std::mt19937 random(seed);
  const int64_t one = kGranule * (500 + random() % 1000),
                weights = kGranule * (300 + random() % 2000);
  constexpr int64_t kSaved[] = {64, 1, 192, 64, 2, 64, 64, 1, 256, 256};  // of 64 parts of `one`
  constexpr int64_t kGradients[] = {256, 256, 64, 64, 64, 192, 64, 64};
  constexpr int kForward = 10, kBackward = 18;
  const auto part = [&](int64_t whole, int64_t parts) {
    return std::max<int64_t>(kGranule, whole * parts / 64 / kGranule * kGranule);
  };
  const int turn = layers * kForward, back = turn + layers * kBackward;
  std::vector<Box> boxes;
  for (int layer = 0; layer < layers; ++layer) {
    const int forward = layer * kForward, backward = back - (layer + 1) * kBackward;
    for (int k = 0; k < kForward; ++k) {
      boxes.push_back({part(one, kSaved[k]), forward + k, backward + kBackward - k});
      if (k % 3 == 1) boxes.push_back({part(one, 21), forward + k, forward + k + 1});
    }
    for (int k = 0; k < kBackward; ++k) {
      boxes.push_back({part(one, kGradients[k % 8]), backward + k, backward + k + 2});
      boxes.push_back({part(one, 30), backward + k, backward + k + 1});
      boxes.push_back({part(weights, k % 4 == 0 ? 64 : 1), backward + k, back + layer + 1});
    }
  }
  return boxes;
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
