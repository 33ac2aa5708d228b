// Choosing among the algorithms that a library proposes for an operation, by timing them where they
// will run (core/autotune.h).
//
//   const Times times = time_candidates(3, [&](size_t i) { queue(algorithms[i]); });
//   const auto winner = fastest(times);
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace plimsoll::cuda {

// Whether they can be timed now: it is wanted (core/autotune.h), and what is queued is not recorded.
bool can_time();

// How many of a library's proposals are tried.
constexpr size_t kMostCandidates = 8;

// Seconds that each candidate took, in each of its rounds; none: it cannot run.
using Times = std::vector<std::vector<double>>;

// The first candidate that none is faster than by 2 % or more, by their medians: a library's own
// order decides where a clock would only find noise. Nothing: none can run.
std::optional<size_t> fastest(const Times& times);

// Runs them on stream() in turns, A B C A B C, and waits for it: what disturbs one disturbs its
// neighbours too. run(i) queues candidate number i, again and again; one that throws DeviceError is
// left out, and one that is hopeless at first is not timed again.
Times time_candidates(size_t candidates, const std::function<void(size_t)>& run);

// Queues numbers for kernels to work on, of both signs and all of their mantissas' bits, between
// 2^-15 and 1 whether they are read as f16, bf16 or f32: the power that a GPU draws, and so its
// clock, depends on them. `data` lies on a boundary of 4 bytes; the last bytes % 4 stay.
void fill_noise(void* data, int64_t bytes);

}  // namespace plimsoll::cuda
