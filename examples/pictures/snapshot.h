// A snapshot of memory over time for the viewer at pytorch.org/memory_viz: the form of
// torch.cuda.memory._snapshot(), that is segments with the blocks in them, and what led there.
//
//   file.write(pickle(snapshot(pool.history())));                  // an eager run, as it was
//   file.write(pickle(snapshot(planned_events(timeline, plan))));  // one step, as it is planned
//
// The viewer reads Python's pickles; JSON is for everything else.
#pragma once

#include <span>

#include "examples/common/report.h"
#include "memory/layout/timeline.h"
#include "memory/pool/pooled_allocator.h"

namespace plimsoll::examples {

// Frees of blocks whose allocation is not among the events are left out. Each block's stack has one
// frame, the op that asked for it, and its category is the memory class.
Json snapshot(std::span<const MemoryEvent> events);

// What an allocator would see if a step's buffers were allocated and freed where the plan puts
// them: two segments, one for what is there all the time and the arena. One microsecond is one
// instruction.
std::vector<MemoryEvent> planned_events(const MemoryTimeline& timeline, const Plan& plan);

}  // namespace plimsoll::examples
