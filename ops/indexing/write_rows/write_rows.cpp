#include "ops/indexing/write_rows/write_rows.h"

#include <algorithm>

#include "core/cpu/parallel.h"
#include "core/cuda/seam/cuda_kernel.h"
#include "core/engine/apply.h"
#include "ops/common/expect.h"
#include "ops/indexing/write_rows/kernels.h"
#include "ops/pointwise/copy/copy.h"

namespace plimsoll {

PLIMSOLL_CUDA_KERNEL(write_rows_cuda);

namespace {

using write_rows_detail::Sizes;

// Inputs: into [B, C, ...], rows [B, T, ...], ids [T].
Metas infer(std::span<const Meta> in, const Attrs&) {
  const Shape &into = in[0].shape, &rows = in[1].shape, &ids = in[2].shape;
  check_same_type("write_rows", in);
  check_id_dtype("write_rows", in[2]);
  bool fits = into.rank() >= 2 && into.rank() == rows.rank() && into[0] == rows[0];
  for (int axis = 2; fits && axis < into.rank(); ++axis) fits = into[axis] == rows[axis];
  check<ShapeError>(fits, "write_rows: the rows do not fit: ", rows, " into ", into,
                    ". Only the second axes, the numbers of rows, may differ.");
  check<ShapeError>(ids == Shape{rows[1]}, "write_rows: the ids are not one for each row: ", ids,
                    " for rows ", rows, ". Give them the shape [", rows[1], "].");
  return {};
}

// Each piece takes some columns of all rows in their order, so that the last of equal ids stays.
void cpu(const Call& call) {
  constexpr int64_t kColumns = 1024;
  const View &into = call.in[0], &rows = call.in[1];
  const Sizes s(into, rows);
  check_ids("write_rows", call.in[2], s.places);
  const int64_t blocks = pieces(s.width, kColumns);
  visit_ids(call.in[2], [&](const auto* id) {
    visit_width(size_of(into.dtype()), [&]<class Word>() {
      parallel_for(s.batch * blocks, grain_for(s.n * std::min(kColumns, s.width)),
                   [&](int64_t begin, int64_t end) {
                     for (int64_t piece = begin; piece < end; ++piece) {
                       const int64_t b = piece / blocks, first = piece % blocks * kColumns;
                       const Word* from = rows.as<Word>() + b * s.batch_step + first;
                       Word* to = into.as<Word>() + b * s.places * s.width + first;
                       for (int64_t t = 0; t < s.n; ++t)
                         std::copy_n(from + t * s.row_step, std::min(kColumns, s.width - first),
                                     to + id[t] * s.width);
                     }
                   });
    });
  });
}

constexpr OpDef write_rows_op{.name = "write_rows",
                              .infer = infer,
                              .cpu = cpu,
                              .cuda = write_rows_cuda,
                              .mutates = bits(0),
                              .strided = bits(1)};

// Whether the elements of each row are neighbours, in order.
bool has_dense_rows(const Tensor& x) {
  int64_t step = 1;
  for (int axis = x.rank() - 1; axis >= 2; --axis) {
    if (x.shape()[axis] != 1 && x.value().strides[axis] != step) return false;
    step *= x.shape()[axis];
  }
  return true;
}

}  // namespace

void write_rows(const Tensor& into, const Tensor& rows, const Tensor& ids) {
  check_defined("write_rows", rows);
  apply(write_rows_op, {into, has_dense_rows(rows) ? rows : contiguous(rows), contiguous(ids)});
}

extern const std::vector<const OpDef*> write_rows_ops;
const std::vector<const OpDef*> write_rows_ops{&write_rows_op};

}  // namespace plimsoll
