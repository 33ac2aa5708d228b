#include "core/cuda/copy.h"
#include "core/cuda/elements.cuh"
#include "core/cuda/faults.cuh"
#include "core/cuda/sort.h"
#include "core/cuda/walk.cuh"
#include "core/engine/op.h"
#include "ops/indexing/common/ids.h"
#include "ops/indexing/gather/attrs.h"

namespace plimsoll {
namespace cuda {
namespace {

// Ids from 0 and below `size`. Others are noted and read as 0.
struct Ids {
  Elements<int64_t> elements;
  int64_t size;
  uint64_t* fault;
  __device__ int64_t get(int64_t i) const {
    const int64_t id = elements.get(i);
    if (id >= 0 && id < size) return id;
    note_fault(fault, i, id);
    return 0;
  }
};

Ids ids_of(const View& view, int64_t size, ThrowFault throw_fault) {
  return {elements<int64_t>(view), size, fault_word(throw_fault, size)};
}

// y[i] = x[.. + id * step] for elements of any type, of which only the width matters. The walk is
// over y, and knows where its ids and, without their axis, its x lie.
template <class T>
__global__ void gather_kernel(Walk<2> walk, Ids ids, const T* x, T* y, int64_t step) {
  for (int64_t i = first_index(); i < walk.count; i += total_threads()) {
    const auto at = walk.offsets(i);
    y[i] = x[at[1] + ids.get(at[0]) * step];
  }
}

template <class T>
void gather_typed(const Walk<2>& walk, const Ids& ids, const void* x, void* y, int64_t step) {
  launch(gather_kernel<T>, blocks_for(walk.count), kThreads, walk, ids, static_cast<const T*>(x),
         static_cast<T*>(y), step);
}

void gather_bytes(int64_t width, const Walk<2>& walk, const Ids& ids, const View& x, const View& y,
                  int64_t step) {
  const auto gather = [&]<class T>() { gather_typed<T>(walk, ids, x.data, y.data, step); };
  if (width == 16)
    gather.template operator()<Pack<uint64_t, 2>>();
  else
    visit_width(width, gather);
}

// The sizes before and behind an axis.
struct Around {
  int64_t outer = 1, inner = 1;
  Around(const Shape& shape, int axis) {
    for (int a = 0; a < shape.rank(); ++a)
      if (a != axis) (a < axis ? outer : inner) *= shape[a];
  }
};

__global__ void select_keys_kernel(Ids ids, int64_t n, uint32_t* keys) {
  for (int64_t i = first_index(); i < n; i += total_threads())
    keys[i] = static_cast<uint32_t>(ids.get(i));
}

// The place in y that each id names.
__global__ void scatter_keys_kernel(Walk<1> walk, Ids ids, int64_t step, uint32_t* keys) {
  for (int64_t i = first_index(); i < walk.count; i += total_threads())
    keys[i] = static_cast<uint32_t>(walk.offsets(i)[0] + ids.get(i) * step);
}

// y [outer, rows, inner] += src [outer, n, inner] at the rows that sorted keys name: the thread of
// the first of equal keys adds all of them, in order.
template <class C>
__global__ void add_sorted_kernel(Sorted sorted, Elements<C> src, Elements<C> y, int64_t outer,
                                  int64_t n, int64_t rows, int64_t inner) {
  for (int64_t t = first_index(); t < outer * n * inner; t += total_threads()) {
    const int64_t line = t / inner, column = t % inner, first = line % n;
    const uint32_t key = sorted.keys[first];
    if (first > 0 && sorted.keys[first - 1] == key) continue;
    const int64_t to = (line / n * rows + key) * inner + column;
    const int64_t from = line / n * n * inner + column;
    C total = y.get(to);
    for (int64_t j = first; j < n && sorted.keys[j] == key; ++j)
      total += src.get(from + sorted.positions[j] * inner);
    y.set(to, total);
  }
}

void add_sorted(const Sorted& sorted, const View& src, const View& y, int64_t outer, int64_t n,
                int64_t rows, int64_t inner) {
  visit_floating_elements(y.dtype(), [&]<class C>() {
    launch(add_sorted_kernel<C>, blocks_for(outer * n * inner), kThreads, sorted, elements<C>(src),
           elements<C>(y), outer, n, rows, inner);
  });
}

template <class C>
__global__ void one_hot_kernel(Ids ids, Elements<C> y, int64_t n) {
  for (int64_t i = first_index(); i < n; i += total_threads())
    y.set(i, ids.get(i / ids.size) == i % ids.size ? C(1) : C(0));
}

void throw_gather(int64_t at, int64_t id, int64_t size) { fail_id("gather", at, id, size); }
void throw_select(int64_t at, int64_t id, int64_t size) { fail_id("index_select", at, id, size); }
void throw_scatter(int64_t at, int64_t id, int64_t size) { fail_id("scatter_add", at, id, size); }
void throw_one_hot(int64_t at, int64_t id, int64_t size) { fail_id("one_hot", at, id, size); }

}  // namespace
}  // namespace cuda

void gather_cuda(const Call& call) {
  const View &x = call.in[0], &ids = call.in[1];
  const int axis = call.attrs.as<AxisAttrs>().axis;
  Strides steps = x.strides;
  steps[axis] = 0;
  cuda::gather_bytes(size_of(x.dtype()), cuda::Walk<2>(ids.shape(), {ids.strides, steps}),
                     cuda::ids_of(ids, x.shape()[axis], &cuda::throw_gather), x, call.out[0],
                     x.strides[axis]);
}

// Rows are moved in the widest pieces that they consist of.
void index_select_cuda(const Call& call) {
  const auto& [axis, size] = call.attrs.as<SelectAttrs>();
  const View &x = call.in[0], &ids = call.in[1], &y = call.out[0];
  const cuda::Around around(x.shape(), axis);
  const int64_t bytes = around.inner * size_of(x.dtype());
  int64_t width = 16;
  const int64_t places = reinterpret_cast<intptr_t>(x.data) | reinterpret_cast<intptr_t>(y.data);
  while ((bytes | places) % width != 0) width /= 2;
  const int64_t inner = bytes / width;
  const cuda::Walk<2> walk({around.outer, ids.shape()[0], inner},
                           {Strides{0, 1, 0}, Strides{size * inner, 0, 1}});
  cuda::gather_bytes(width, walk, cuda::ids_of(ids, size, &cuda::throw_select), x, y, inner);
}

void index_select_grad_cuda(const Call& call) {
  const auto& [axis, size] = call.attrs.as<SelectAttrs>();
  const View &ids = call.in[1], &y = call.out[0];
  const cuda::Around around(y.shape(), axis);
  const int64_t n = ids.shape()[0];
  cuda::check_cuda(
      cudaMemsetAsync(y.data, 0, static_cast<size_t>(bytes_of(y.meta)), cuda::stream()),
      "cudaMemsetAsync");
  if (n == 0) return;
  cuda::launch(cuda::select_keys_kernel, cuda::blocks_for(n), cuda::kThreads,
               cuda::ids_of(ids, size, &cuda::throw_select), n,
               cuda::keys_to_sort(call.workspace.data()));
  const cuda::Sorted sorted = cuda::sort_keys(call.workspace.data(), n, size);
  cuda::add_sorted(sorted, call.in[0], y, around.outer, n, size, around.inner);
}

void scatter_add_cuda(const Call& call) {
  const View &ids = call.in[1], &y = call.out[0];
  const int axis = call.attrs.as<AxisAttrs>().axis;
  cuda::copy_strided(call.in[0], y);
  const int64_t n = count(ids.shape());
  if (n == 0) return;
  Strides steps = y.strides;
  steps[axis] = 0;
  const cuda::Walk<1> walk(ids.shape(), {steps});
  cuda::launch(cuda::scatter_keys_kernel, cuda::blocks_for(n), cuda::kThreads, walk,
               cuda::ids_of(ids, y.shape()[axis], &cuda::throw_scatter), y.strides[axis],
               cuda::keys_to_sort(call.workspace.data()));
  const int64_t places = count(y.shape());
  const cuda::Sorted sorted = cuda::sort_keys(call.workspace.data(), n, places);
  cuda::add_sorted(sorted, call.in[2], y, 1, n, places, 1);
}

void one_hot_cuda(const Call& call) {
  const View& y = call.out[0];
  const int64_t n = count(y.shape());
  const auto ids =
      cuda::ids_of(call.in[0], call.attrs.as<OneHotAttrs>().classes, &cuda::throw_one_hot);
  cuda::visit_elements(y.dtype(), [&]<class C>() {
    cuda::launch(cuda::one_hot_kernel<C>, cuda::blocks_for(n), cuda::kThreads, ids,
                 cuda::elements<C>(y), n);
  });
}

}  // namespace plimsoll
