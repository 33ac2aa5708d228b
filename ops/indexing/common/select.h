// Rows that integers name, on the CPU: index_select and embedding. x is dense, and its axis `axis`,
// of size V, is the one whose rows are named: x [outer, V, inner]. ids are k integers that were
// checked, y is [outer, k, inner].
#pragma once

#include "core/engine/op.h"

namespace plimsoll {

// y[o, i] = x[o, ids[i]]
void select_rows(const View& x, const View& ids, int axis, const View& y);

// The gradient: dx[o, v] is the sum of the rows dy[o, i] with ids[i] == v, in order. With `others`,
// of the shape of dx, it is others[o, v] and that sum, which was rounded before; dx may lie where
// they do. The scratch has add_rows_bytes(), of V rows, on any device.
void add_rows(const View& dy, const View& ids, int axis, std::span<std::byte> scratch,
              const View& dx, const View* others = nullptr);
int64_t add_rows_bytes(const View& ids, int64_t rows);

}  // namespace plimsoll
