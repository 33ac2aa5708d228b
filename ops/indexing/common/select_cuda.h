// Rows that integers name, on a GPU: the twins of select.h. In ops/indexing/gather/gather.cu.
#pragma once

#include "core/cuda/faults.h"
#include "ops/indexing/common/select.h"

namespace plimsoll::cuda {

void select_rows(const View& x, const View& ids, int axis, ThrowFault throw_fault, const View& y);

// With `others`, a row that no id names is left as it is: there -0 stays, which the CPU makes a 0.
void add_rows(const View& dy, const View& ids, int axis, ThrowFault throw_fault,
              std::span<std::byte> scratch, const View& dx, const View* others = nullptr);

}  // namespace plimsoll::cuda
