// What the kernels of embedding share.
#pragma once

#include "core/cpu/parallel.h"
#include "core/cuda/sort.h"
#include "core/tensor/meta.h"

namespace plimsoll::embedding_detail {

// IndexError: the one at `position` is no row.
[[noreturn]] void throw_bad_id(int64_t position, int64_t id, int64_t rows);

// The scratch memory of the gradient on a GPU.
struct GradSizes {
  int64_t ids, rows, features;

  int64_t run() const { return std::min<int64_t>(64, detail::piece_elements); }  // of the sums
  int64_t runs() const { return pieces(ids, run()); }

  // Two sums for each run, the starts of the rows, and what sorting takes.
  int64_t sums_bytes(DType dtype) const {
    return 2 * runs() * features * (dtype == DType::f64 ? 8 : 4);
  }
  int64_t starts_bytes() const { return 8 * (rows + 1); }
  int64_t bytes(DType dtype) const {
    return sums_bytes(dtype) + starts_bytes() + cuda::sort_bytes(ids);
  }
};

}  // namespace plimsoll::embedding_detail
