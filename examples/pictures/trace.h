// A captured step as Chrome trace events, for ui.perfetto.dev: a slice for each instruction and a
// counter of the live bytes by class.
//
//   file.write(trace(timeline, seconds).dump());
#pragma once

#include <span>

#include "examples/common/report.h"
#include "memory/layout/timeline.h"

namespace plimsoll::examples {

// `seconds` has one number for each instruction; they run one after another from 0 on.
Json trace(const MemoryTimeline& timeline, std::span<const double> seconds);

}  // namespace plimsoll::examples
