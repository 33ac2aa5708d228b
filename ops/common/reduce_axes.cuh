// Sums and the like on a GPU: x [outer, mid, inner] -> y [outer, inner], as in
// ops/common/reduce_axes.h. A reduction is a struct, which reads its operands itself:
//
//   template <class C>
//   struct Sum {
//     using State = double;                         // trivial, of at most kReduceState bytes
//     Elements<C> x, y;
//     __device__ State start(int64_t i, int64_t first) const { return 0; }   // of output i, whose
//                                                       // elements begin at number `first`
//     __device__ void take(State& s, int64_t at, int64_t m) const { s += x.get(at); }  // number m
//     __device__ void join(State& s, const State& other) const { s += other; }
//     __device__ void finish(int64_t i, const State& s) const { y.set(i, static_cast<C>(s)); }
//   };
//   reduce(axes, Sum<C>{elements<C>(x), elements<C>(y)}, call.workspace);
//
// A gradient that needs a reduction first has `using Line` for what its elements are to know of
// output i, `Line whole(int64_t i, const State&)` in place of finish(), and
// `void each(const Line&, int64_t at)`.
//
//   reduce_then_each(axes, f, call.workspace);
//
// A reduction may have `void take_pack(State (&)[kPack], int64_t i, int64_t at, int64_t m) const`
// too, which takes elements at to at + kPack - 1 for outputs i and the next: a thread then has that
// many where inner allows it.
//
// A block takes neighbouring outputs, with as many threads for each as it has left. Where there are
// too few outputs to keep a GPU busy, mid is cut into chunks, whose states wait in the workspace
// for a second kernel. States are joined in an order that depends on nothing but the sizes.
#pragma once

#include <bit>

#include "core/cuda/elements.cuh"
#include "core/cuda/launch.cuh"
#include "ops/common/reduce_axes.h"

namespace plimsoll::cuda {

// The smallest power of 2 from n on, of at most `most`, which is one.
inline int power_of_2(int64_t n, int64_t most) {
  return static_cast<int>(std::bit_ceil(static_cast<uint64_t>(std::clamp<int64_t>(n, 1, most))));
}

// Threads of one block that have neighbouring columns, so many each, where it walks down them with
// all its threads.
inline int neighbours_across(int64_t columns, int each = 1) {
  return power_of_2(columns / each, kWarp / each);
}

template <class F>
concept TakesPacks = requires(const F& f, typename F::State (&states)[kPack]) {
  f.take_pack(states, int64_t{}, int64_t{}, int64_t{});
};

// Joins the states of the `along` threads of one output, which stand `across` apart; the first
// row's thread gets the whole.
template <class F, class State>
__device__ void join_rows(const F& f, State& s, State* shared, int row, int along, int across) {
  const int t = static_cast<int>(threadIdx.x);
  __syncthreads();  // whoever still reads the states before
  shared[t] = s;
  for (int distance = along / 2; distance > 0; distance /= 2) {
    __syncthreads();
    if (row < distance) {
      f.join(s, shared[t + distance * across]);
      shared[t] = s;
    }
  }
}

// A thread has kColumns neighbouring outputs, and its block `across` times as many. states: where
// those of chunks go, [chunks, outputs]; nullptr: there is one.
template <int kColumns, class F>
__global__ void reduce_kernel(MiddleAxis a, int64_t chunk, int across, F f,
                              typename F::State* states) {
  __shared__ typename F::State shared[kThreads];
  const int t = static_cast<int>(threadIdx.x), row = t / across;
  const int rows = static_cast<int>(blockDim.x) / across;
  const int64_t outputs = a.outer * a.inner, wide = across * kColumns;
  const int64_t groups = (outputs + wide - 1) / wide, number = blockIdx.x / groups;
  const int64_t i = blockIdx.x % groups * wide + t % across * kColumns;
  const bool used = i < outputs;
  const int64_t first = i / a.inner * a.mid * a.inner + i % a.inner, begin = number * chunk;
  const int64_t end = !used ? 0 : (begin + chunk < a.mid ? begin + chunk : a.mid);
  typename F::State s[kColumns]{};
  for (int j = 0; used && j < kColumns; ++j) s[j] = f.start(i + j, first + j);
  for (int64_t m = begin + row; m < end; m += rows) {
    if constexpr (kColumns > 1)
      f.take_pack(s, i, first + m * a.inner, m);
    else
      f.take(s[0], first + m * a.inner, m);
  }
  for (int j = 0; j < kColumns; ++j) {
    join_rows(f, s[j], shared, row, rows, across);
    if (row > 0 || !used) continue;
    if (states)
      states[number * outputs + i + j] = s[j];
    else
      f.finish(i + j, s[j]);
  }
}

// A block joins the states of all chunks of kWarp outputs.
template <class F>
__global__ void join_kernel(MiddleAxis a, const typename F::State* states, int64_t chunks, F f) {
  __shared__ typename F::State shared[kThreads];
  const int t = static_cast<int>(threadIdx.x), row = t / kWarp, rows = kThreads / kWarp;
  const int64_t outputs = a.outer * a.inner, i = int64_t{blockIdx.x} * kWarp + t % kWarp;
  typename F::State s{};
  if (i < outputs) s = f.start(i, i / a.inner * a.mid * a.inner + i % a.inner);
  for (int64_t c = row; i < outputs && c < chunks; c += rows) f.join(s, states[c * outputs + i]);
  join_rows(f, s, shared, row, rows, kWarp);
  if (row == 0 && i < outputs) f.finish(i, s);
}

// The workspace has cuda_reduce_bytes() of the same axes.
template <class F>
void reduce(const MiddleAxis& a, const F& f, std::span<std::byte> workspace) {
  static_assert(sizeof(typename F::State) <= kReduceState);
  const int64_t outputs = a.outer * a.inner, chunk = cuda_chunk(a);
  if (outputs == 0) return;
  const int64_t chunks = std::max<int64_t>(1, pieces(a.mid, chunk));
  auto* const states =
      chunks > 1 ? reinterpret_cast<typename F::State*>(workspace.data()) : nullptr;
  const auto start = [&](int columns, auto kernel) {
    const int across = neighbours_across(a.inner, columns);
    const int along = power_of_2(std::min(a.mid, chunk), kThreads / across);
    launch(kernel, pieces(outputs, across * columns) * chunks, std::max(across * along, kWarp), a,
           chunk, across, f, states);
  };
  bool packed = false;
  if constexpr (TakesPacks<F>) {
    packed = a.inner % kPack == 0;
    if (packed) start(kPack, reduce_kernel<kPack, F>);
  }
  if (!packed) start(1, reduce_kernel<1, F>);
  if (chunks > 1) launch(join_kernel<F>, pieces(outputs, kWarp), kThreads, a, states, chunks, f);
}

// The reduction of a gradient, whose results are lines.
template <class F>
struct StoreLines : F {
  typename F::Line* lines;
  __device__ void finish(int64_t i, const typename F::State& s) const {
    lines[i] = this->whole(i, s);
  }
};

template <class F>
__global__ void each_kernel(MiddleAxis a, F f, const typename F::Line* lines) {
  for (int64_t e = first_index(); e < a.outer * a.mid * a.inner; e += total_threads())
    f.each(lines[e / a.inner / a.mid * a.inner + e % a.inner], e);
}

// The workspace has cuda_reduce_bytes() and behind that room for a line of each output.
template <class F>
void reduce_then_each(const MiddleAxis& a, const F& f, std::span<std::byte> workspace) {
  static_assert(sizeof(typename F::Line) <= kReduceState);
  const int64_t outputs = a.outer * a.inner;
  auto* const lines = reinterpret_cast<typename F::Line*>(workspace.data() + cuda_reduce_bytes(a));
  reduce(a, StoreLines<F>{f, lines}, workspace);
  launch(each_kernel<F>, blocks_for(outputs * a.mid), kThreads, a, f, lines);
}

}  // namespace plimsoll::cuda
