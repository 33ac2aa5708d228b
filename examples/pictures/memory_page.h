// The memory of a captured step as one HTML page that needs no network: live bytes over the step by
// class, the arena as address x time rectangles, the largest tensors at the peak.
//
//   const Drawn runs[] = {{"as it runs", step.plan(metas), make_timeline(...)}};
//   file.write(memory_page("gpt", "batch 12, f32", runs));
//
// The page is memory_page.html with these figures in it as JSON.
#pragma once

#include <span>
#include <string>

#include "memory/layout/timeline.h"

namespace plimsoll::examples {

struct Drawn {
  std::string name;
  const Plan& plan;
  MemoryTimeline timeline;
};

// One chart of live bytes for each of `runs`, side by side and to one scale; arena, table and
// figures are of the last. Names may hold any UTF-8.
std::string memory_page(const std::string& title, const std::string& about,
                        std::span<const Drawn> runs);

}  // namespace plimsoll::examples
