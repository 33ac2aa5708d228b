// What the kernels of write_rows share.
#pragma once

#include "core/engine/call.h"
#include "ops/indexing/common/ids.h"

namespace plimsoll::write_rows_detail {

// into [batch, places, width] and rows [batch, n, width], whose rows and batches are so many
// elements apart.
struct Sizes {
  int64_t batch, places, n, width;
  int64_t row_step, batch_step;

  Sizes(const View& into, const View& rows)
      : batch(into.shape()[0]),
        places(into.shape()[1]),
        n(rows.shape()[1]),
        width(1),
        row_step(rows.strides[1]),
        batch_step(rows.strides[0]) {
    for (int axis = 2; axis < into.shape().rank(); ++axis) width *= into.shape()[axis];
  }
};

// IndexError: the id at `position` is no row of so many.
[[noreturn]] inline void throw_bad_id(int64_t position, int64_t id, int64_t places) {
  fail_id("write_rows", position, id, places);
}

}  // namespace plimsoll::write_rows_detail
