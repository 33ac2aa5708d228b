#include "core/ranks/mpi.h"

#include "core/base/error.h"

namespace plimsoll {

std::unique_ptr<Ranks> open_mpi(const MpiOptions& options) {
  check<UsageError>(open_mpi_backend != nullptr,
                    "ranks: this build has no MPI to reach other processes by. Install Open MPI or "
                    "MPICH and configure again.");
  return open_mpi_backend(options);
}

}  // namespace plimsoll
