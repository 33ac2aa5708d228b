// How gather and scatter_add walk: ids [.., k, ..] beside a tensor x that differs along one axis
// and may be larger along the others.
//
//   for_each_block(ids, x, axis, [&](const Block& b) { x[b.x + id * b.x_step + i] ... });
#pragma once

#include "core/cpu/parallel.h"
#include "core/engine/apply.h"
#include "ops/indexing/gather/attrs.h"

namespace plimsoll {

// `width` neighbouring places, each a line of `length` ids.
struct Block {
  int64_t ids, x;            // offsets of the first id, and of element 0 of its line in x
  int64_t ids_step, x_step;  // along the line
  int64_t length, width;
};

// Blocks share no place of x, so they may be worked on in any order. Both are row-major.
template <class F>
void for_each_block(const Shape& ids, const Shape& x, int axis, F&& f) {
  constexpr int64_t kWidth = 64;
  const int rank = ids.rank();
  const Strides ids_strides = row_major(ids), x_strides = row_major(x);
  const int64_t row = axis == rank - 1 ? 1 : ids.back();  // places side by side
  const int64_t blocks = pieces(row, kWidth);
  int64_t rows = 1;
  for (int a = 0; a < rank; ++a)
    if (a != axis && a != rank - 1) rows *= ids[a];
  const int64_t cost = 2 * ids[axis] * std::min(row, kWidth);
  parallel_for(rows * blocks, grain_for(cost), [&](int64_t begin, int64_t end) {
    for (int64_t number = begin; number < end; ++number) {
      const int64_t first = number % blocks * kWidth;
      Block b{first,           first,     ids_strides[axis],
              x_strides[axis], ids[axis], std::min(kWidth, row - first)};
      int64_t rest = number / blocks;
      for (int a = rank - 2; a >= 0; --a) {
        if (a == axis) continue;
        const int64_t index = rest % ids[a];
        rest /= ids[a];
        b.ids += index * ids_strides[a];
        b.x += index * x_strides[a];
      }
      f(b);
    }
  });
}

}  // namespace plimsoll
