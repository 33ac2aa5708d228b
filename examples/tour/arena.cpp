// Chapter 6: the arena of a captured step as a picture, address by instruction; and boxes for which
// placing in the order of time is not good enough.
#include <algorithm>
#include <cstdio>

#include "examples/tour/net.h"
#include "examples/tour/tour.h"
#include "memory/layout/exact_offsets.h"
#include "memory/layout/memory_timeline.h"
#include "memory/step/passes.h"

namespace plimsoll::tour {
namespace {

// A letter for each box in a field of rows (addresses, the highest above) and columns (time).
void draw(std::span<const Box> boxes, const std::vector<int64_t>& offsets, int64_t height,
          int64_t bytes_a_row, const char* unit, int64_t unit_bytes) {
  int end = 0;
  for (const Box& box : boxes) end = std::max(end, box.end);
  const int64_t rows = (height + bytes_a_row / 2) / bytes_a_row;
  std::vector<std::string> field(static_cast<size_t>(rows), std::string(end, '.'));
  char letter = 'a';
  for (size_t b = 0; b < boxes.size(); ++b) {
    if (boxes[b].bytes < bytes_a_row / 2) continue;
    const int64_t first = (offsets[b] + bytes_a_row / 2) / bytes_a_row;
    const int64_t last = (offsets[b] + boxes[b].bytes + bytes_a_row / 2) / bytes_a_row;
    for (int64_t row = first; row < last; ++row)
      for (int i = boxes[b].begin; i < boxes[b].end; ++i)
        field[static_cast<size_t>(row)][static_cast<size_t>(i)] = letter;
    letter = letter == 'z' ? 'A' : static_cast<char>(letter + 1);
  }
  for (int64_t row = rows; row-- > 0;)
    std::printf("%5lld %s  %s\n", static_cast<long long>(row * bytes_a_row / unit_bytes), unit,
                field[static_cast<size_t>(row)].c_str());
}

// The lowest free place for each box, one box after the other in the order of time.
Packing first_come(std::span<const Box> boxes) {
  Packing packing{.offsets = {}, .height = 0, .lower_bound = live_peak(boxes).bytes};
  for (size_t b = 0; b < boxes.size(); ++b) {
    std::vector<std::pair<int64_t, int64_t>> taken;  // bottoms and tops of what is alive with b
    for (size_t a = 0; a < b; ++a)
      if (boxes[a].begin < boxes[b].end && boxes[b].begin < boxes[a].end)
        taken.emplace_back(packing.offsets[a], packing.offsets[a] + boxes[a].bytes);
    std::ranges::sort(taken);
    int64_t offset = 0;
    for (const auto& [bottom, top] : taken) {
      if (bottom - offset >= boxes[b].bytes) break;
      offset = std::max(offset, top);
    }
    packing.offsets.push_back(offset);
    packing.height = std::max(packing.height, offset + boxes[b].bytes);
  }
  return packing;
}

void draw_step() {
  Training training({.layers = 4});
  const PlannedProgram step = plan_step(capture_live(training.function(), inputs_of(1024)), {});
  const MemoryTimeline timeline = make_timeline(step.program, step.plan);
  std::vector<Box> boxes;
  std::vector<int64_t> offsets;
  for (const Rectangle& r : timeline.rectangles)
    if (r.in_arena()) {
      boxes.push_back({r.bytes, r.begin, r.end});
      offsets.push_back(r.offset);
    }
  std::printf("four layers, batch 1024: address by instruction\n");
  draw(boxes, offsets, step.plan.arena_bytes, int64_t{256} << 10, "KiB", 1024);
  std::printf("arena %lld bytes, lower bound %lld\n\n",
              static_cast<long long>(step.plan.arena_bytes),
              static_cast<long long>(step.plan.lower_bound));
}

}  // namespace

void print_arena() {
  draw_step();
  const std::vector<Box> boxes{{.bytes = 3, .begin = 0, .end = 2},
                               {.bytes = 2, .begin = 1, .end = 11},
                               {.bytes = 4, .begin = 2, .end = 4},
                               {.bytes = 1, .begin = 6, .end = 10},
                               {.bytes = 2, .begin = 6, .end = 11}};
  const Packing naive = first_come(boxes), good = tighten(boxes, place(boxes), {});
  std::printf("first come, first served: %lld units\n", static_cast<long long>(naive.height));
  draw(boxes, naive.offsets, naive.height, 1, "   ", 1);
  std::printf("place(): %lld units, lower bound %lld\n", static_cast<long long>(good.height),
              static_cast<long long>(good.lower_bound));
  draw(boxes, good.offsets, good.height, 1, "   ", 1);
}

}  // namespace plimsoll::tour
