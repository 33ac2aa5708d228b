#include "core/cuda/copy.h"
#include "core/cuda/elements.cuh"
#include "core/cuda/faults.cuh"
#include "core/cuda/sort.h"
#include "core/cuda/walk.cuh"
#include "core/engine/op.h"
#include "ops/common/reduce_axes.h"
#include "ops/indexing/common/ids.h"
#include "ops/indexing/common/select_cuda.h"
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
    const int64_t id = ids.get(at[0]);
    y[i] = ids.size > 0 ? x[at[1] + id * step] : T{};
  }
}

void gather(const Walk<2>& walk, const Ids& ids, const View& x, const View& y, int64_t step) {
  visit_width(size_of(x.dtype()), [&]<class T>() {
    launch(gather_kernel<T>, blocks_for(walk.count), kThreads, walk, ids, x.as<T>(), y.as<T>(),
           step);
  });
}

// The row of each id. The ids are a row too.
__global__ void select_keys_kernel(Ids ids, int64_t n, uint64_t* entries) {
  for (int64_t i = first_index(); i < n; i += total_threads())
    entries[i] = static_cast<uint64_t>(ids.get(i)) << 32 | static_cast<uint64_t>(i);
}

// The place in y that each id names.
__global__ void scatter_keys_kernel(Walk<1> walk, Ids ids, int64_t step, uint64_t* entries) {
  for (int64_t i = first_index(); i < walk.count; i += total_threads()) {
    const int64_t place = walk.offsets(i)[0] + ids.get(i) * step;
    entries[i] = static_cast<uint64_t>(place) << 32 | static_cast<uint64_t>(i);
  }
}

// y [outer, mid, inner] += src [outer, n, inner] at the rows that sorted keys name: the thread of
// the first of equal keys adds all of them, in order. apart: to each other, and what is rounded of
// them to y.
template <class C>
__global__ void add_sorted_kernel(const uint64_t* sorted, Elements<C> src, Elements<C> y,
                                  MiddleAxis a, int64_t n, bool apart) {
  for (int64_t t = first_index(); t < a.outer * n * a.inner; t += total_threads()) {
    const int64_t line = t / a.inner, column = t % a.inner, first = line % n;
    const uint64_t key = sorted[first] >> 32;
    if (first > 0 && sorted[first - 1] >> 32 == key) continue;
    const int64_t to = (line / n * a.mid + static_cast<int64_t>(key)) * a.inner + column;
    const int64_t from = line / n * n * a.inner + column;
    const C before = y.get(to);
    C total = apart ? C(0) : before;
    for (int64_t j = first; j < n && sorted[j] >> 32 == key; ++j)
      total += src.get(from + static_cast<int64_t>(sorted[j] & 0xffffffffu) * a.inner);
    y.set(to, total);
    if (apart) y.set(to, before + y.get(to));
  }
}

void add_sorted(uint64_t* entries, int64_t n, const View& src, const View& y, const MiddleAxis& a,
                bool apart = false) {
  sort_entries(entries, n, a.mid);
  visit_floating_elements(y.dtype(), [&]<class C>() {
    launch(add_sorted_kernel<C>, blocks_for(a.outer * n * a.inner), kThreads, entries,
           elements<C>(src), elements<C>(y), a, n, apart);
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

void select_rows(const View& x, const View& ids, int axis, ThrowFault throw_fault, const View& y) {
  const MiddleAxis a = middle_axis(x.shape(), axis);
  const Walk<2> walk({a.outer, count(ids.shape()), a.inner},
                     {Strides{0, 1, 0}, Strides{a.mid * a.inner, 0, 1}});
  gather(walk, ids_of(ids, a.mid, throw_fault), x, y, a.inner);
}

void add_rows(const View& dy, const View& ids, int axis, ThrowFault throw_fault,
              std::span<std::byte> scratch, const View& dx, const View* others) {
  const auto bytes = static_cast<size_t>(bytes_of(dx.meta));
  if (!others)
    check_cuda(cudaMemsetAsync(dx.data, 0, bytes, stream()), "cudaMemsetAsync");
  else if (others->data != dx.data)
    check_cuda(cudaMemcpyAsync(dx.data, others->data, bytes, cudaMemcpyDeviceToDevice, stream()),
               "cudaMemcpyAsync");
  const int64_t n = count(ids.shape());
  if (n == 0) return;
  const MiddleAxis a = middle_axis(dx.shape(), axis);
  auto* const entries = reinterpret_cast<uint64_t*>(scratch.data());
  launch(select_keys_kernel, blocks_for(n), kThreads, ids_of(ids, a.mid, throw_fault), n, entries);
  add_sorted(entries, n, dy, dx, a, others != nullptr);
}

}  // namespace cuda

void gather_cuda(const Call& call) {
  const View &x = call.in[0], &ids = call.in[1];
  const int axis = call.attrs.as<AxisAttrs>().axis;
  Strides steps = x.strides;
  steps[axis] = 0;
  cuda::gather(cuda::Walk<2>(ids.shape(), {ids.strides, steps}),
               cuda::ids_of(ids, x.shape()[axis], &cuda::throw_gather), x, call.out[0],
               x.strides[axis]);
}

void index_select_cuda(const Call& call) {
  cuda::select_rows(call.in[0], call.in[1], call.attrs.as<SelectAttrs>().axis, &cuda::throw_select,
                    call.out[0]);
}

void index_select_grad_cuda(const Call& call) {
  cuda::add_rows(call.in[0], call.in[1], call.attrs.as<SelectAttrs>().axis, &cuda::throw_select,
                 call.workspace, call.out[0]);
}

void scatter_add_cuda(const Call& call) {
  const View &ids = call.in[1], &y = call.out[0];
  const int axis = call.attrs.as<AxisAttrs>().axis;
  cuda::copy_strided(call.in[0], y);
  const int64_t n = count(ids.shape());
  if (n == 0) return;
  Strides steps = y.strides;
  steps[axis] = 0;
  auto* const entries = reinterpret_cast<uint64_t*>(call.workspace.data());
  cuda::launch(cuda::scatter_keys_kernel, cuda::blocks_for(n), cuda::kThreads,
               cuda::Walk<1>(ids.shape(), {steps}),
               cuda::ids_of(ids, y.shape()[axis], &cuda::throw_scatter), y.strides[axis], entries);
  cuda::add_sorted(entries, n, call.in[2], y, {1, count(y.shape()), 1});
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
