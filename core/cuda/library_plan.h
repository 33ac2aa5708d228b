// What a vendor's library chose for an operation, for kernels that need not know the library.
#pragma once

#include <cstdint>

namespace plimsoll::cuda {

struct LibraryPlan {
  int64_t engine, workspace;  // the library's number of the algorithm; bytes
};

}  // namespace plimsoll::cuda
