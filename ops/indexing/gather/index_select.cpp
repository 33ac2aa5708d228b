// index_select: x [outer, n, inner], ids [k] -> y [outer, k, inner].
#include "core/cpu/vector.h"
#include "core/cuda/seam/cuda_kernel.h"
#include "core/cuda/sort.h"
#include "ops/common/expect.h"
#include "ops/indexing/common/ids.h"
#include "ops/indexing/gather/gather.h"
#include "ops/indexing/gather/walk.h"
#include "ops/pointwise/copy/copy.h"

namespace plimsoll {

PLIMSOLL_CUDA_KERNEL(index_select_cuda);
PLIMSOLL_CUDA_KERNEL(index_select_grad_cuda);

namespace {

struct Around {
  int64_t outer = 1, inner = 1;
  Around(const Shape& shape, int axis) {
    for (int a = 0; a < shape.rank(); ++a)
      if (a != axis) (a < axis ? outer : inner) *= shape[a];
  }
};

Metas select_infer(std::span<const Meta> in, const Attrs& attrs) {
  check_id_dtype("index_select", in[1]);
  check<ShapeError>(in[1].shape.rank() == 1, "index_select: the ids are not a list: ", in[1].shape,
                    ". Give them one axis, or use gather.");
  Meta out = in[0];
  out.shape[attrs.as<SelectAttrs>().axis] = in[1].shape[0];
  return {out};
}

void select_cpu(const Call& call) {
  const auto& [axis, size] = call.attrs.as<SelectAttrs>();
  const View &x = call.in[0], &ids = call.in[1];
  check_ids("index_select", ids, size);
  const Around around(x.shape(), axis);
  const int64_t k = count(ids.shape()), bytes = around.inner * size_of(x.dtype());
  const auto* from = x.as<std::byte>();
  auto* to = call.out[0].as<std::byte>();
  visit_ids(ids, [&, n = size](const auto* id) {
    parallel_for(around.outer * k, grain_for(around.inner), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row)
        std::copy_n(from + (row / k * n + id[row % k]) * bytes, bytes, to + row * bytes);
    });
  });
}

Metas grad_infer(std::span<const Meta> in, const Attrs& attrs) {
  const auto& [axis, size] = attrs.as<SelectAttrs>();
  Meta out = in[0];
  out.shape[axis] = size;
  return {out};
}

int64_t grad_workspace(const Call& call) {
  if (call.in[1].device() == Device::cuda) return cuda::sort_bytes(call.in[1].shape()[0]);
  return (call.attrs.as<SelectAttrs>().size + 1 + call.in[1].shape()[0]) *
         static_cast<int64_t>(sizeof(int64_t));
}

// Positions sorted by their id, in order within one: those of v are positions[starts[v]] up to
// positions[starts[v + 1]]. A counting sort.
template <class Id>
void sort_positions(const Id* id, int64_t k, int64_t n, int64_t* starts, int64_t* positions) {
  std::fill_n(starts, n + 1, int64_t{0});
  for (int64_t i = 0; i < k; ++i) ++starts[id[i] + 1];
  for (int64_t v = 0; v < n; ++v) starts[v + 1] += starts[v];
  // Filling moves each start to the start of the next id; then they are moved back.
  for (int64_t i = 0; i < k; ++i) positions[starts[id[i]]++] = i;
  for (int64_t v = n; v > 0; --v) starts[v] = starts[v - 1];
  starts[0] = 0;
}

// Inputs: dy [outer, k, inner], ids [k]. dx [outer, n, inner]: each row adds up the rows of dy that
// were taken from it, a block of columns at a time.
void grad_cpu(const Call& call) {
  constexpr int64_t kBlock = 64;
  const auto& [axis, size] = call.attrs.as<SelectAttrs>();
  const int64_t n = size, k = count(call.in[1].shape());
  const Around around(call.out[0].shape(), axis);
  check_ids("index_select", call.in[1], n);
  int64_t* starts = reinterpret_cast<int64_t*>(call.workspace.data());
  int64_t* positions = starts + n + 1;
  visit_ids(call.in[1], [&](const auto* id) { sort_positions(id, k, n, starts, positions); });
  const int64_t width = around.inner, blocks = pieces(width, kBlock);
  const int64_t cost = std::min(kBlock, width) * (1 + k / n);
  visit_floating("index_select", call.out[0].dtype(), [&]<class T>() {
    const T* dy = call.in[0].as<T>();
    T* dx = call.out[0].as<T>();
    parallel_for(around.outer * n * blocks, grain_for(cost), [&](int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block) {
        const int64_t row = block / blocks, first = block % blocks * kBlock;
        const int64_t columns = std::min(kBlock, width - first);
        Compute<T> total[kBlock] = {};
        for (int64_t p = starts[row % n]; p < starts[row % n + 1]; ++p) {
          const T* from = dy + (row / n * k + positions[p]) * width + first;
#pragma omp simd
          for (int64_t i = 0; i < columns; ++i) total[i] += static_cast<Compute<T>>(from[i]);
        }
#pragma omp simd
        for (int64_t i = 0; i < columns; ++i) dx[row * width + first + i] = narrow<T>(total[i]);
      }
    });
  });
}

}  // namespace

extern const OpDef index_select_op, index_select_grad_op;

constexpr OpDef index_select_grad_op{.name = "index_select_grad",
                                     .infer = grad_infer,
                                     .cpu = grad_cpu,
                                     .cuda = index_select_grad_cuda,
                                     .workspace = grad_workspace};

namespace {

std::vector<Tensor> select_vjp(const Backward& b) {
  return {apply1(index_select_grad_op, {contiguous(b.grad()), b.input(1)}, b.attrs<SelectAttrs>()),
          Tensor()};
}

}  // namespace

constexpr OpDef index_select_op{.name = "index_select",
                                .infer = select_infer,
                                .cpu = select_cpu,
                                .cuda = index_select_cuda,
                                .vjp = select_vjp,
                                .saves = {.inputs = bits(1)}};

Tensor index_select(const Tensor& x, int64_t axis, const Tensor& ids) {
  check_defined("index_select", x);
  const int own = normal_axis("index_select", axis, x.rank());
  return apply1(index_select_op, {contiguous(x), contiguous(ids)},
                SelectAttrs{own, x.shape()[own]});
}

}  // namespace plimsoll
