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
// With `to`, dx is that and the sums, rounded before; dx may lie where `to` does.
void add_rows(const View& dy, const View& ids, const SelectSizes& sizes, ThrowFault throw_fault,
              std::span<std::byte> scratch, const View& dx, const View* to = nullptr);

}  // namespace plimsoll::cuda
