// Operands walked together after broadcasting: Walk knows where runs start, map_pairs and
// map_triples are the loops that pointwise kernels are made of.
//
//   map_pairs<float, bool>(call, [](float a, float b) { return a < b; });   // y[i] = f(a[i], b[i])
//
// The first inputs of the call are read through their strides; the output is row-major.
#pragma once

#include <array>
#include <utility>

#include "core/cpu/parallel.h"
#include "core/cpu/vector.h"
#include "core/engine/op.h"

namespace plimsoll {

// Neighbouring axes are merged where all operands allow: equal shapes become one long run,
// [N, H, W, C] with [C] becomes rows of C.
template <size_t N>
struct Walk {
  int64_t rows = 1, run = 1;    // `rows` runs of `run` elements
  std::array<int64_t, N> step;  // along a run; 0 repeats one element
  Shape outer;                  // sizes of the axes that make up `rows`, innermost first
  std::array<Strides, N> outer_step;

  Walk(std::span<const View> in, const Shape& out);  // of the first N inputs
  std::array<int64_t, N> start(int64_t row) const;   // offset of a row in each operand
};
extern template struct Walk<2>;
extern template struct Walk<3>;

// The type that one element is computed in: f32 for the 16-bit floating types, else its own.
template <class T>
using Computed = std::conditional_t<is_16_bit<T>, float, T>;

// Calls f(offsets, output offset, length) for every run, cut at pieces: a flat range over all
// elements, entered at any place.
template <size_t N, class F>
void for_runs(const Walk<N>& walk, const F& f) {
  parallel_for(walk.rows * walk.run, grain_for(1), [&](int64_t begin, int64_t end) {
    int64_t first = begin % walk.run;  // of the first run; the others are entered at 0
    for (int64_t row = begin / walk.run; begin < end; ++row, first = 0) {
      const int64_t n = std::min(end - begin, walk.run - first);
      auto at = walk.start(row);
      for (size_t k = 0; k < N; ++k) at[k] += first * walk.step[k];
      f(at, begin, n);
      begin += n;
    }
  });
}

// y[i] = f(a[i], b[i]) for inputs 0 and 1 of type In; f sees Computed<In>.
template <class In, class Out, class F>
void map_pairs(const Call& call, const F& f) {
  using C = Computed<In>;
  const Walk<2> walk(call.in, call.out[0].shape());
  const auto [a_step, b_step] = walk.step;
  for_runs(walk, [&, a_step = a_step, b_step = b_step](const auto& at, int64_t begin, int64_t n) {
    const In *a = call.in[0].as<In>() + at[0], *b = call.in[1].as<In>() + at[1];
    Out* y = call.out[0].as<Out>() + begin;
    if (a_step == 1 && b_step == 1) {
#pragma omp simd
      for (int64_t i = 0; i < n; ++i)
        y[i] = narrow<Out>(f(static_cast<C>(a[i]), static_cast<C>(b[i])));
    } else if (a_step == 1 && b_step == 0) {
      const C v = static_cast<C>(*b);
#pragma omp simd
      for (int64_t i = 0; i < n; ++i) y[i] = narrow<Out>(f(static_cast<C>(a[i]), v));
    } else {
      for (int64_t i = 0; i < n; ++i)
        y[i] = narrow<Out>(f(static_cast<C>(a[i * a_step]), static_cast<C>(b[i * b_step])));
    }
  });
}

// y[i] = f(a[i], b[i], c[i]) for inputs 0, 1 and 2 of types A, B and C.
template <class A, class B, class C, class Out, class F>
void map_triples(const Call& call, const F& f) {
  const Walk<3> walk(call.in, call.out[0].shape());
  for_runs(walk, [&](const auto& at, int64_t begin, int64_t n) {
    const A* a = call.in[0].as<A>() + at[0];
    const B* b = call.in[1].as<B>() + at[1];
    const C* c = call.in[2].as<C>() + at[2];
    Out* y = call.out[0].as<Out>() + begin;
    const auto each = [&](auto i, auto j, auto k) {  // steps; constants make the loop vector code
#pragma omp simd
      for (int64_t e = 0; e < n; ++e)
        y[e] = narrow<Out>(f(static_cast<Computed<A>>(a[e * i]), static_cast<Computed<B>>(b[e * j]),
                             static_cast<Computed<C>>(c[e * k])));
    };
    constexpr std::integral_constant<int64_t, 0> zero;
    constexpr std::integral_constant<int64_t, 1> one;
    const auto is = [&](int64_t i, int64_t j, int64_t k) {
      return walk.step == std::array<int64_t, 3>{i, j, k};
    };
    if (is(1, 1, 1))
      each(one, one, one);
    else if (is(0, 1, 1))
      each(zero, one, one);
    else if (is(1, 0, 1))
      each(one, zero, one);
    else if (is(1, 1, 0))
      each(one, one, zero);
    else
      each(walk.step[0], walk.step[1], walk.step[2]);
  });
}

}  // namespace plimsoll
