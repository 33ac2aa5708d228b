// A sequence of ops in a text form, so that steps of other programs can be planned too.
//
//   input  w 4096                                   # bytes that are there all the time
//   op     conv 0.0021 reads w x writes h:65536 workspace 1024
//   alias  v h                                      # another name for the same storage
//   op     relu 0.0001 reads v writes r:65536 over v
//   op     sgd  0.0002 reads g w changes w
//   last   h                                        # nobody reads h after this line
//   result r                                        # still there at the end
//
// docs/traces.md explains the form and that of plans.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "memory/recompute/problem.h"

namespace plimsoll::tools {

struct OpTrace {
  recompute::Problem problem;  // the last op reads the results
  std::vector<std::string> ops;
  std::vector<std::string> storages;  // inputs are not among them
};

// DataError: `PATH: line N: what is wrong, what was expected`.
OpTrace read_trace(const std::filesystem::path& path);

}  // namespace plimsoll::tools
