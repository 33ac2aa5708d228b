// How long a step of ranks takes: one lane computes, the other moves bytes, and a wait is where the
// first stands still for the second.
//
//   const Link link{.ranks = 4, .bytes_per_second = 1.25e8, .latency = 50e-6};   // 1 Gbit/s
//   const Lanes lanes = two_lanes(planned.program, seconds, link);
//   lanes.exposed                      // seconds of the step in which nothing is computed
//
//   computing      g2 | g1 | update 2 |  g0  | update 1 | ..... | update 0
//   moving bytes        [ exchange 2 ][ exchange 1 ]  [ exchange 0 ]
#pragma once

#include <span>

#include "core/engine/program.h"

namespace plimsoll::examples {

// What a rank sends others by, and receives from them at the same time.
struct Link {
  int64_t ranks = 1;
  double bytes_per_second = 0;  // 0: bytes take no time
  double latency = 0;           // seconds of each exchange, besides its bytes
};

struct Lanes {
  double seconds = 0;        // of the step: computing + exposed
  double computing = 0;      // by itself
  double communicating = 0;  // by itself
  double exposed = 0;        // of what that takes, which nothing was computed beside
};

// `seconds`: of each instruction; those of collectives do not count. All ranks compute alike and
// exchange in turn, as they start: each takes latency + (N - 1) / N of what it receives into, over
// bytes_per_second.
Lanes two_lanes(const Program& program, std::span<const double> seconds, const Link& link);

}  // namespace plimsoll::examples
