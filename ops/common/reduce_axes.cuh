// Reductions on a GPU: x [outer, mid, inner] -> y [outer, inner] (ops/common/reduce_axes.h), and gradients
// that need a reduction first. A reduction is a struct:
//
//   template <class C>
//   struct Sum {
//     using State = double;                         // trivial, of at most kReduceState bytes
//     Elements<C> y;
//     __device__ State start(int64_t i, int64_t first) const { return 0; }   // of output i, whose
//                                                       // elements begin at x[first]
//     __device__ void take(State& s, C v, int64_t m) const { s += v; }       // v = x[.., m, ..]
//     __device__ void join(State& s, const State& other) const { s += other; }
//     __device__ void finish(int64_t i, const State& s) const { y.set(i, static_cast<C>(s)); }
//   };
//   reduce<C>(call, x, axes, Sum<C>{elements<C>(y)});
//
// In place of finish() a gradient has `Line whole(int64_t i, const State&)` and
// `C each(const Line&, C v)`: dx[..] = each(whole(i, state), x[..]).
//   reduce<C>(call, x, axes, f, dx);
//
// A block of threads is `across` outputs wide and `along` threads deep. Where there are too few
// outputs to keep a GPU busy, mid is cut into chunks, whose states wait in the workspace for a
// second kernel. States are joined in an order that depends on nothing but the sizes.
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

// Neighbouring columns of one block, where it walks down them with all its threads.
inline int neighbours_across(int64_t columns) { return power_of_2(columns, kWarp); }

struct ReduceCut {
  int64_t outer, mid, inner, outputs;
  int64_t chunk, chunks;  // of mid
  int64_t groups;         // of `across` places
  int across, along;      // threads of a block: powers of 2
  bool rows;              // inner is 1: neighbours are of one output
  bool packs;             // kTogether of them are read at once

  ReduceCut(const MiddleAxis& a, int64_t chunk_of_mid, bool in_packs)
      : outer(a.outer),
        mid(a.mid),
        inner(a.inner),
        outputs(a.outer * a.inner),
        chunk(chunk_of_mid),
        chunks(std::max<int64_t>(1, pieces(mid, chunk))),
        rows(inner == 1),
        packs(in_packs) {
    const int64_t together = packs ? kTogether : 1;
    if (rows) {
      along = power_of_2(pieces(std::min(mid, chunk), together), kThreads);
    } else {
      along = kThreads / neighbours_across(pieces(inner, together));
      along = std::min(along, power_of_2(std::min(mid, chunk), kThreads));
    }
    across = kThreads / along;
    groups = pieces(outputs / width(), across);
  }

  // Outputs of one thread.
  __host__ __device__ int width() const { return packs && !rows ? kTogether : 1; }
  __device__ int row() const {
    const int t = static_cast<int>(threadIdx.x);
    return rows ? t % along : t / across;
  }
  __device__ int column() const {
    const int t = static_cast<int>(threadIdx.x);
    return rows ? t / along : t % across;
  }
  // The distance of neighbours along mid, in threads.
  __device__ int step() const { return rows ? 1 : across; }
};

// Joins the states of the threads of one output; the first row's thread gets the whole.
template <class F, class State = typename F::State>
__device__ void join_rows(const F& f, State& s, State* shared, int row, int along, int step) {
  const int t = static_cast<int>(threadIdx.x);
  shared[t] = s;
  for (int distance = along / 2; distance > 0; distance /= 2) {
    __syncthreads();
    if (row < distance) {
      f.join(s, shared[t + distance * step]);
      shared[t] = s;
    }
  }
}

// Stage 1 of a reduction, or, where the states are `whole` already, the last of a gradient.
template <class C, class F>
__global__ void reduce_kernel(Elements<C> x, ReduceCut cut, F f, typename F::State* states,
                              bool whole, Elements<C> dx) {
  using State = typename F::State;
  constexpr int kWidth = kMovesPacks<C> ? kTogether : 1;  // most outputs of a thread
  __shared__ State shared[kWidth][kThreads];
  const int row = cut.row(), width = cut.width();
  const int64_t group = blockIdx.x % cut.groups, chunk = blockIdx.x / cut.groups;
  const int64_t i = (group * cut.across + cut.column()) * width;
  const int64_t first = i / cut.inner * cut.mid * cut.inner + i % cut.inner;
  const int64_t begin = chunk * cut.chunk;
  const int64_t end = i >= cut.outputs ? 0 : std::min(cut.mid, begin + cut.chunk);
  const int64_t stride = cut.rows && cut.packs ? kTogether : 1;
  State s[kWidth];
  for (int j = 0; j < kWidth; ++j)
    if (j < width && i < cut.outputs) s[j] = whole ? states[i + j] : f.start(i + j, first + j);
  if (!whole) {
    for (int64_t m = begin + row * stride; m < end; m += cut.along * stride) {
      const int64_t at = first + m * cut.inner;
      if (!kMovesPacks<C> || !cut.packs) {
        f.take(s[0], x.get(at), m);
      } else if (const auto v = x.get_several(at); cut.rows) {
        for (int j = 0; j < kTogether; ++j) f.take(s[0], v.at[j], m + j);
      } else {
        for (int j = 0; j < kWidth; ++j) f.take(s[j], v.at[j], m);
      }
    }
    for (int j = 0; j < kWidth; ++j)
      if (j < width) join_rows(f, s[j], shared[j], row, cut.along, cut.step());
    if (cut.chunks > 1) {
      for (int j = 0; j < kWidth; ++j)
        if (j < width && row == 0 && i < cut.outputs) states[chunk * cut.outputs + i + j] = s[j];
      return;
    }
  }
  if constexpr (requires { f.whole(i, s[0]); }) {
    __syncthreads();
    decltype(f.whole(i, s[0])) line[kWidth] = {};
    for (int j = 0; j < kWidth; ++j) {
      if (j >= width || i >= cut.outputs) continue;
      if (!whole) s[j] = shared[j][static_cast<int>(threadIdx.x) - row * cut.step()];
      line[j] = f.whole(i + j, s[j]);
    }
    for (int64_t m = begin + row * stride; m < end; m += cut.along * stride) {
      const int64_t at = first + m * cut.inner;
      if (!kMovesPacks<C> || !cut.packs) {
        dx.set(at, f.each(line[0], x.get(at)));
        continue;
      }
      auto v = x.get_several(at);
      if (cut.rows)
        for (int j = 0; j < kTogether; ++j) v.at[j] = f.each(line[0], v.at[j]);
      else
        for (int j = 0; j < kWidth; ++j) v.at[j] = f.each(line[j], v.at[j]);
      dx.set_several(at, v);
    }
  } else {
    for (int j = 0; j < kWidth; ++j)
      if (j < width && row == 0 && i < cut.outputs) f.finish(i + j, s[j]);
  }
}

// Stage 2: joins the states [chunks, outputs] of all chunks.
template <class F>
__global__ void join_kernel(typename F::State* states, int64_t chunks, int64_t outputs, int across,
                            int along, F f) {
  using State = typename F::State;
  __shared__ State shared[kThreads];
  const int t = static_cast<int>(threadIdx.x), row = t / across;
  const int64_t i = static_cast<int64_t>(blockIdx.x) * across + t % across;
  State s;
  if (i < outputs) s = states[row * outputs + i];  // along <= chunks
  for (int64_t c = row + along; c < chunks && i < outputs; c += along)
    f.join(s, states[c * outputs + i]);
  join_rows(f, s, shared, row, along, across);
  if (row != 0 || i >= outputs) return;
  if constexpr (requires { f.finish(i, s); })
    f.finish(i, s);
  else
    states[i] = s;
}

// dx is given where F has whole() and each(). The workspace is that of reduce_cuda_workspace().
template <class C, class F>
void reduce(const Call& call, const View& x, const MiddleAxis& a, const F& f,
            const View* dx = nullptr) {
  using State = typename F::State;
  static_assert(sizeof(State) <= kReduceState);
  const int64_t neighbours = a.inner == 1 ? a.mid : a.inner;
  const bool packs = in_packs(x, neighbours) && (!dx || in_packs(*dx, neighbours));
  const ReduceCut cut(a, cuda_chunk(a), packs);
  auto* states = reinterpret_cast<State*>(call.workspace.data());
  const auto out = dx ? elements<C>(*dx) : Elements<C>();
  const auto run = [&](bool whole) {
    launch(reduce_kernel<C, F>, cut.groups * cut.chunks, kThreads, elements<C>(x), cut, f, states,
           whole, out);
  };
  run(false);
  if (cut.chunks == 1) return;
  const int along = power_of_2(cut.chunks, kThreads) / 2;
  const int across = kThreads / along;
  launch(join_kernel<F>, pieces(cut.outputs, across), kThreads, states, cut.chunks, cut.outputs,
         across, along, f);
  if (dx) run(true);
}

}  // namespace plimsoll::cuda
