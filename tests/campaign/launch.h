// Starting ranks as a person starts them: by mpirun, of whatever MPI the build found.
//
//   SKIP_WITHOUT_MPI();
//   const Outcome outcome = run_shell(launch("-n 2 " + program("train_cnn --ranks 2 ...")));
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "core/ranks/mpi.h"

#define SKIP_WITHOUT_MPI() \
  if (!open_mpi_backend) GTEST_SKIP() << "this build has no MPI"

namespace plimsoll::examples {

// More ranks than cores, as root too.
inline std::string launch(const std::string& ranks_and_programs) {
  return "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
         "OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none "
         "OMPI_MCA_mpi_yield_when_idle=1 " PLIMSOLL_MPIEXEC " " +
         ranks_and_programs;
}

inline std::string program(const std::string& arguments) {
  return std::string(PLIMSOLL_BIN_DIR) + "/" + arguments;
}

}  // namespace plimsoll::examples
