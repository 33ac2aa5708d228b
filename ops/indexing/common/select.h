// Rows that integers name, on the CPU: index_select and embedding. x [outer, size, inner] is a
// dense tensor, ids [k] name rows along its middle and were checked, y is [outer, k, inner].
#pragma once

#include "core/engine/op.h"

namespace plimsoll {

struct SelectSizes {
  int64_t outer, size, inner;
};

// y[o, i] = x[o, ids[i]]
void select_rows(const View& x, const View& ids, const SelectSizes& sizes, const View& y);

// The gradient: dx[o, v] is the sum of the rows dy[o, i] with ids[i] == v, in order. With `others`,
// of the shape of dx, it is others[o, v] and that sum, which was rounded before; dx may lie where
// they do. The scratch has add_rows_bytes().
void add_rows(const View& dy, const View& ids, const SelectSizes& sizes,
              std::span<std::byte> scratch, const View& dx, const View* others = nullptr);
int64_t add_rows_bytes(int64_t size, int64_t ids);

}  // namespace plimsoll
