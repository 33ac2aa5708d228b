// What the kernels of embedding share.
#pragma once

#include "core/cpu/parallel.h"
#include "core/meta.h"

namespace plimsoll::embedding_detail {

// IndexError: the one at `position` is no row.
[[noreturn]] void throw_bad_id(int64_t position, int64_t id, int64_t rows);

// The scratch memory of the gradient on a GPU.
constexpr int kDigits = 256;  // of a sort by digits, one to a thread of a block

struct Place {
  int64_t id, position;
};

struct GradSizes {
  int64_t ids, rows, features;

  int64_t chunk() const { return std::min<int64_t>(1024, detail::piece_elements); }  // of the sort
  int64_t run() const { return std::min<int64_t>(64, detail::piece_elements); }      // of the sums
  int64_t chunks() const { return pieces(ids, chunk()); }
  int64_t runs() const { return pieces(ids, run()); }

  // Two sums for each run; two times the places, the digits' counts, the starts of the rows.
  int64_t sums_bytes(DType dtype) const {
    return 2 * runs() * features * (dtype == DType::f64 ? 8 : 4);
  }
  int64_t bytes(DType dtype) const {
    return sums_bytes(dtype) + 8 * (4 * ids + kDigits * chunks() + rows + 1);
  }
};

}  // namespace plimsoll::embedding_detail
