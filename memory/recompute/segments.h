// What textbooks do (Chen et al., "Training Deep Nets with Sublinear Memory Cost", 2016): the step
// is cut into segments before the moment with the most bytes alive; what is alive at a cut is kept,
// everything else that is needed later is made again, a segment at a time.
//
//   for (const Choices& choices : segment_plans(timeline)) simulator.run(choices).peak;
#pragma once

#include <limits>
#include <vector>

#include "memory/recompute/timeline.h"

namespace plimsoll::recompute {

// From 1 segment to about 2 sqrt(n), each cut where little is alive; `most` plans at most. For the
// timeline of a problem, in which each op has one turn.
std::vector<Choices> segment_plans(const Timeline& timeline,
                                   int most = std::numeric_limits<int>::max());

}  // namespace plimsoll::recompute
