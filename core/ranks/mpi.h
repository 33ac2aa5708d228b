// Ranks over MPI, where the build has it: core/mpi is a library of its own, found by the linker
// through a weak symbol as the CUDA half is (core/cuda/seam/cuda.h). Nothing else includes mpi.h.
//
//   const std::unique_ptr<Ranks> ranks = open_mpi({.timeout = 120});
#pragma once

#include <memory>

#include "core/ranks/ranks.h"

namespace plimsoll {

struct MpiOptions {
  double timeout = 120;  // seconds that a rank waits for others before it ends the job
};

// The ranks that the launcher started: one where it was none, so compare size() with what you
// expect. Once a process. All calls go to a thread that owns MPI and asks it, with pauses, whether
// it is done; when it is not done after `timeout` (ten times as long until the first bytes came
// from all), it says so in one sentence on stderr and ends all ranks with exit code 4.
// UsageError in a build without MPI; StateError for a second time, or when MPI does not start.
std::unique_ptr<Ranks> open_mpi(const MpiOptions& options);

// The maker itself, which core/mpi defines.
[[gnu::weak]] std::unique_ptr<Ranks> open_mpi_backend(const MpiOptions& options);

}  // namespace plimsoll
