#include "ops/indexing/embedding/embedding.h"

#include "core/cpu/parallel.h"
#include "core/cpu/vector.h"
#include "core/cuda/seam/cuda_kernel.h"
#include "core/cuda/sort.h"
#include "core/engine/apply.h"
#include "ops/indexing/embedding/kernels.h"
#include "ops/pointwise/copy/copy.h"

namespace plimsoll {

PLIMSOLL_CUDA_KERNEL(embedding_cuda);
PLIMSOLL_CUDA_KERNEL(embedding_grad_cuda);

void embedding_detail::throw_bad_id(int64_t position, int64_t id, int64_t rows) {
  fail<IndexError>("embedding: an id is out of range: ", id, " at position ", position, " for ",
                   rows, " rows. Use ids from 0 and below ", rows, ".");
}

namespace {

Metas embedding_infer(std::span<const Meta> in, const Attrs&) {
  check<DTypeError>(is_floating(in[0].dtype),
                    "embedding: the table is not of a floating type: ", in[0], ". Cast it first.");
  check<DTypeError>(in[1].dtype == DType::i64 || in[1].dtype == DType::i32,
                    "embedding: the ids are not integers: ", in[1], ". Cast them to i64 or i32.");
  check<ShapeError>(in[0].shape.rank() == 2, "embedding: the table is not a matrix: ", in[0].shape,
                    ". Give it the shape [rows, features].");
  Shape out = in[1].shape;
  out.push_back(in[0].shape[1]);
  return {{out, in[0].dtype, in[0].device}};
}

// Calls f(position, id) for all ids in order; refuses those that are no row.
template <class F>
void for_each_id(const View& ids, int64_t rows, F&& f) {
  const auto walk = [&](const auto* id) {
    for (int64_t i = 0; i < count(ids.shape()); ++i) {
      if (id[i] < 0 || id[i] >= rows) [[unlikely]]
        embedding_detail::throw_bad_id(i, id[i], rows);
      f(i, static_cast<int64_t>(id[i]));
    }
  };
  if (ids.dtype() == DType::i64)
    walk(ids.as<int64_t>());
  else
    walk(ids.as<int32_t>());
}

int64_t id_at(const View& ids, int64_t i) {
  return ids.dtype() == DType::i64 ? ids.as<int64_t>()[i] : ids.as<int32_t>()[i];
}

void embedding_cpu(const Call& call) {
  const View &table = call.in[0], &ids = call.in[1];
  for_each_id(ids, table.shape()[0], [](int64_t, int64_t) {});  // before anything is read
  visit_floating("embedding", table.dtype(), [&]<class T>() {
    const int64_t features = table.shape()[1];
    T* y = call.out[0].as<T>();
    parallel_for(count(ids.shape()), grain_for(features), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        std::copy_n(table.as<T>() + id_at(ids, i) * features, features, y + i * features);
    });
  });
}

struct TableAttrs {
  int64_t rows;
  bool operator==(const TableAttrs&) const = default;
};

// Inputs: dy [..., D], ids [...]. Output: the gradient of the table [V, D].
Metas grad_infer(std::span<const Meta> in, const Attrs& attrs) {
  return {{{attrs.as<TableAttrs>().rows, in[0].shape.back()}, in[0].dtype, in[0].device}};
}

int64_t grad_workspace(const Call& call) {
  if (call.in[0].device() == Device::cuda) return cuda::sort_bytes(count(call.in[1].shape()));
  return (call.out[0].shape()[0] + 1 + count(call.in[1].shape())) *
         static_cast<int64_t>(sizeof(int64_t));
}

// The positions sorted by the row they looked up, in their order within a row: those of row v are
// positions[starts[v]] ... positions[starts[v + 1] - 1]. A counting sort.
void sort_positions(const View& ids, int64_t rows, int64_t* starts, int64_t* positions) {
  std::fill_n(starts, rows + 1, int64_t{0});
  for_each_id(ids, rows, [&](int64_t, int64_t id) { ++starts[id + 1]; });
  for (int64_t v = 0; v < rows; ++v) starts[v + 1] += starts[v];
  // Filling moves each start to the start of the next row; then they are moved back.
  for_each_id(ids, rows, [&](int64_t i, int64_t id) { positions[starts[id]++] = i; });
  for (int64_t v = rows; v > 0; --v) starts[v] = starts[v - 1];
  starts[0] = 0;
}

void grad_cpu(const Call& call) {
  constexpr int64_t kBlock = 64;  // columns added up together, in registers or the nearest cache
  const int64_t rows = call.out[0].shape()[0], features = call.out[0].shape()[1];
  int64_t* starts = reinterpret_cast<int64_t*>(call.workspace.data());
  int64_t* positions = starts + rows + 1;
  sort_positions(call.in[1], rows, starts, positions);
  const int64_t blocks = pieces(features, kBlock);
  visit_floating("embedding_grad", call.out[0].dtype(), [&]<class T>() {
    const T* dy = call.in[0].as<T>();
    T* table = call.out[0].as<T>();
    const int64_t work = kBlock * (1 + count(call.in[1].shape()) / rows);
    parallel_for(rows * blocks, grain_for(work), [&](int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block) {
        const int64_t row = block / blocks, first = block % blocks * kBlock;
        const int64_t n = std::min(kBlock, features - first);
        Compute<T> total[kBlock] = {};
        for (int64_t p = starts[row]; p < starts[row + 1]; ++p) {
          const T* from = dy + positions[p] * features + first;
#pragma omp simd
          for (int64_t i = 0; i < n; ++i) total[i] += static_cast<Compute<T>>(from[i]);
        }
#pragma omp simd
        for (int64_t i = 0; i < n; ++i) table[row * features + first + i] = narrow<T>(total[i]);
      }
    });
  });
}

constexpr OpDef grad_op{.name = "embedding_grad",
                        .infer = grad_infer,
                        .cpu = grad_cpu,
                        .cuda = embedding_grad_cuda,
                        .workspace = grad_workspace};

std::vector<Tensor> embedding_vjp(const Backward& b) {
  return {apply1(grad_op, {contiguous(b.grad()), b.input(1)}, TableAttrs{b.input_meta(0).shape[0]}),
          Tensor()};
}

constexpr OpDef embedding_op{.name = "embedding",
                             .infer = embedding_infer,
                             .cpu = embedding_cpu,
                             .cuda = embedding_cuda,
                             .vjp = embedding_vjp,
                             .saves = {.inputs = bits(1)},
                             .cast = CastRule::low};

}  // namespace

Tensor embedding(const Tensor& table, const Tensor& ids) {
  return apply1(embedding_op, {contiguous(table), contiguous(ids)});
}

extern const std::vector<const OpDef*> embedding_ops{&embedding_op, &grad_op};

}  // namespace plimsoll
