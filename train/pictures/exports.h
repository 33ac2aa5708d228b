// A program's memory in the forms of other tools' viewers.
//
//   file.write(pickle(snapshot(pool.history())));                  // an eager run, as it was
//   file.write(pickle(snapshot(planned_events(timeline, plan))));  // one step, as it is planned
//   file.write(trace(timeline, seconds).dump());                   // for ui.perfetto.dev
//
// A snapshot is in the form of torch.cuda.memory._snapshot(), that is segments with the blocks in
// them, and what led there. The viewer at pytorch.org/memory_viz reads it as Python's pickle; JSON
// is for everything else.
#pragma once

#include <span>

#include "memory/layout/memory_timeline.h"
#include "memory/pool/pooled_allocator.h"
#include "train/json.h"

namespace plimsoll::train {

// Frees of blocks whose allocation is not among the events are left out. Each block's stack has one
// frame, the op that asked for it, and its category is the memory class.
Json snapshot(std::span<const MemoryEvent> events);

// What an allocator would see if a step's buffers were allocated and freed where the plan puts
// them: two segments, one for what is there all the time and the arena. One microsecond is one
// instruction.
std::vector<MemoryEvent> planned_events(const MemoryTimeline& timeline, const Plan& plan);

// A captured step as Chrome trace events: a slice for each instruction and a counter of the live
// bytes by class. `seconds` has one number for each instruction; they run one after another from 0
// on.
Json trace(const MemoryTimeline& timeline, std::span<const double> seconds);

// JSON as a Python pickle (protocol 2; the opcodes are in CPython's pickletools): null, booleans,
// whole numbers, strings, lists and dicts. ValueError for numbers that are not whole and for bytes.
std::string pickle(const Json& json);

}  // namespace plimsoll::train
