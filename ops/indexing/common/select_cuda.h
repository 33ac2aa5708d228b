// Rows that integers name, on a GPU: index_select and embedding. In ops/indexing/gather/gather.cu.
#pragma once

#include "core/cuda/faults.h"
#include "ops/indexing/common/select.h"

namespace plimsoll::cuda {

// y[o, i] = x[o, ids[i]]
void select_rows(const View& x, const View& ids, const SelectSizes& sizes, ThrowFault throw_fault,
                 const View& y);

// The gradient: dx[o, v] is the sum of the rows dy[o, i] with ids[i] == v, in order. The scratch
// has sort_bytes() (core/cuda/sort.h) of the number of ids.
// With `others`, dx is those and the sums, which are rounded before; dx may lie where they do. A
// row that no id names is left as it is: there -0 stays, which on the CPU becomes 0.
void add_rows(const View& dy, const View& ids, const SelectSizes& sizes, ThrowFault throw_fault,
              std::span<std::byte> scratch, const View& dx, const View* others = nullptr);

}  // namespace plimsoll::cuda
