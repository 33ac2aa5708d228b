// Kernels that give every row of a tensor a block of threads.
//
//   template <class C>
//   __global__ void centre_kernel(Elements<C> x, Elements<C> y, int64_t n, bool packs) {
//     const Row<C> from{x, blockIdx.x * n}, to{y, blockIdx.x * n};
//     C total = 0;
//     read_row(n, packs, [&](int64_t, C v) { total += v; }, from);
//     const C mean = over_block(total, Plus()) / static_cast<C>(n);
//     write_row(n, packs, to, [&](int64_t, C v) { return v - mean; }, from);
//   }
//   launch(centre_kernel<C>, rows, row_threads(n), x, y, n, in_packs(n, x_view, y_view));
//
// Threads see the same elements in every pass over a row, so a row may be written over itself. Which
// ones they are, and so the order of sums, depends on n alone: `packs` says how they are moved.
#pragma once

#include "core/cuda/elements.cuh"
#include "core/cuda/launch.cuh"

namespace plimsoll::cuda {

// `n` neighbours from element `start` of a tensor on.
template <class C>
struct Row {
  Elements<C> of;
  int64_t start;

  __device__ C get(int64_t i) const { return of.get(start + i); }
  __device__ void set(int64_t i, C value) const { of.set(start + i, value); }
  __device__ auto get_several(int64_t i) const { return of.get_several(start + i); }
  __device__ void set_several(int64_t i, const typename Elements<C>::Several& values) const {
    of.set_several(start + i, values);
  }
};

// Neighbours in a row of n that fall to one thread.
__device__ inline int64_t neighbours(int64_t n) { return n % kTogether == 0 ? kTogether : 1; }

// f(i, in[i]...) for the elements i of rows of n that fall to this thread.
template <class F, class C, class... Rows>
__device__ void read_row(int64_t n, bool packs, const F& f, const Row<C>& in, const Rows&... more) {
  const int64_t together = neighbours(n);
  for (int64_t i = threadIdx.x * together; i < n; i += blockDim.x * together) {
    if (kMovesPacks<C> && packs)
      [&](const auto&... x) {
        for (int j = 0; j < kTogether; ++j) f(i + j, x.at[j]...);
      }(in.get_several(i), more.get_several(i)...);
    else
      for (int64_t j = i; j < i + together; ++j) f(j, in.get(j), more.get(j)...);
  }
}

// out[i] = f(i, in[i]...) for the same elements.
template <class C, class F, class... Rows>
__device__ void write_row(int64_t n, bool packs, const Row<C>& out, const F& f, const Rows&... in) {
  const int64_t together = neighbours(n);
  for (int64_t i = threadIdx.x * together; i < n; i += blockDim.x * together) {
    if (kMovesPacks<C> && packs)
      [&](const auto&... x) {
        typename Elements<C>::Several y;
        for (int j = 0; j < kTogether; ++j) y.at[j] = f(i + j, x.at[j]...);
        out.set_several(i, y);
      }(in.get_several(i)...);
    else
      for (int64_t j = i; j < i + together; ++j) out.set(j, f(j, in.get(j)...));
  }
}

// What one thread handles of a matrix with rows of `width`: with packs kTogether columns from
// column `first` on, else that one.
template <class C>
struct FewColumns {
  Elements<C> of;
  int64_t width, first;
  bool packs;

  __device__ auto get(int64_t row) const {
    if (kMovesPacks<C> && packs) return of.get_several(row * width + first);
    return typename Elements<C>::Several{of.get(row * width + first)};
  }
  __device__ void set(int64_t row, const typename Elements<C>::Several& values) const {
    if (kMovesPacks<C> && packs)
      of.set_several(row * width + first, values);
    else
      of.set(row * width + first, values.at[0]);
  }
};

// Threads in whole warps, one for each piece where there are not too many.
inline int whole_warps(int64_t pieces, int most) {
  return kWarp *
         static_cast<int>(std::clamp<int64_t>((pieces + kWarp - 1) / kWarp, 1, most / kWarp));
}

// Of a block that has a row of n to itself: one for each pack of neighbours.
inline int row_threads(int64_t n) { return whole_warps((n + kTogether - 1) / kTogether, kThreads); }

template <class... Views>
bool in_packs(int64_t n, const Views&... views) {
  return (in_packs(views, n) && ...);
}

}  // namespace plimsoll::cuda
