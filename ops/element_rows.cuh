// Ops over rows among the ops of ops/element.cuh: the other half of what generated kernels
// (memory/fusion/source_rows.cpp) are written in. A block takes a row, and each thread a few of its
// elements through all ops: what one op hands on to the next stays in the thread's registers.
//
//   PLIMSOLL_KERNEL(fused_1) {                          // h = x + f, y = softmax(h), both kept
//     const auto f0 = element::Binary<formulas::Add>{};
//     const auto f1 = element::Softmax<false>{};
//     element::each_row<768, uint32_t>(arguments, [&]<int P>(element::Part<768, P, uint32_t> row) {
//       element::Held<float, 768, P> in0, in1, v0, v1;
//       row.each([&](int h, uint32_t i, int c) {
//         in0[h] = element::load_any<float, P>(arguments.at[0], i);
//         in1[h] = element::load_any<float, P>(arguments.at[1], i);
//   #pragma unroll
//         for (int j = 0; j < P; ++j) {
//           v0[h].at[j] = f0(in0[h].at[j], in1[h].at[j]);
//         }
//         element::store_any(arguments.at[2], i, v0[h]);
//       });
//       const auto s1 = f1.over_row(row, v0);           // the whole block
//       row.each([&](int h, uint32_t i, int c) {
//   #pragma unroll
//         for (int j = 0; j < P; ++j) {
//           v1[h].at[j] = f1(s1, v0[h].at[j]);
//         }
//         element::store_any(arguments.at[3], i, v1[h]);
//       });
//     });
//   }
//
// An op has the bits that it has by itself: the formulas are those of its own kernel, and the same
// threads see the same elements in the same order (ops/rows.cuh).
#pragma once

#include "core/row_threads.h"
#include "ops/element.cuh"
#include "ops/layer_norm/row.cuh"
#include "ops/norm_gradient.cuh"
#include "ops/rms_norm/attrs.h"
#include "ops/rms_norm/row.cuh"
#include "ops/softmax/row.cuh"

namespace plimsoll::element {

// The elements of a row of N that fall to this thread: kPieces times P neighbours, or fewer.
template <int N, int P, class Index>
struct Part {
  static constexpr int kTogether = P, kThreads = row_threads(N);
  static constexpr int kPieces = (N + kThreads * P - 1) / (kThreads * P);
  Index number;     // of the row
  int64_t columns;  // N, which the compiler does not know (KernelArguments::columns)

  // f(h, i, c) for piece h, which begins with element i of the matrix, in column c.
  template <class F>
  __device__ void each(const F& f) const {
#pragma unroll
    for (int h = 0; h < kPieces; ++h) {
      const int column = (h * kThreads + static_cast<int>(threadIdx.x)) * P;
      if (column < N) f(h, number * N + static_cast<Index>(column), column);
    }
  }

  // What all elements of the row share, from whoever has it.
  template <class T>
  __device__ void set(void* data, T value) const {
    if (threadIdx.x == 0) static_cast<T*>(data)[number] = value;
  }
};

// A value of a row: of each thread, its own elements. As all indices are known when the loops are
// unrolled, they lie in registers.
template <class T, int N, int P>
struct Held {
  Pack<T, P> of[Part<N, P, int>::kPieces];
  __device__ Pack<T, P>& operator[](int h) { return of[h]; }
  __device__ const Pack<T, P>& operator[](int h) const { return of[h]; }
};

// As load() and store(), but from and to anywhere: which elements a thread has depends on the length
// of the row alone.
template <class T, int P>
__device__ Pack<T, P> load_any(const void* data, int64_t i) {
  if (reinterpret_cast<uintptr_t>(data) % alignof(Pack<T, P>) == 0) return load<T, P>(data, i);
  Pack<T, P> pack;
#pragma unroll
  for (int j = 0; j < P; ++j) pack.at[j] = static_cast<const T*>(data)[i + j];
  return pack;
}
template <class T, int P>
__device__ void store_any(void* data, int64_t i, const Pack<T, P>& pack) {
  if (reinterpret_cast<uintptr_t>(data) % alignof(Pack<T, P>) == 0) return store(data, i, pack);
#pragma unroll
  for (int j = 0; j < P; ++j) static_cast<T*>(data)[i + j] = pack.at[j];
}

// each(f) as the formulas of rows are given it: f(x...) for the elements of this thread.
template <class P, class... Values>
__device__ auto each_of(const P& row, const Values&... values) {
  return [&](const auto& f) {
    row.each([&](int h, auto, int) {
#pragma unroll
      for (int j = 0; j < P::kTogether; ++j) f(in_register(values[h].at[j])...);
    });
  };
}

struct LayerNorm {
  double eps;
  const float *gamma, *beta;

  __device__ LayerNorm(const layer_norm_detail::LayerNormAttrs& attrs, const float* scale,
                       const float* shift)
      : eps(attrs.eps), gamma(scale), beta(shift) {}

  template <class P, class X>
  __device__ auto over_row(const P& row, const X& x) const {
    return layer_norm_detail::RowStatistics<float>(each_of(row, x), row.columns, eps);
  }
  // gamma and beta for columns c ... c + P - 1.
  struct Weights {
    float scale, shift;
  };
  template <int P>
  __device__ Pack<Weights, P> prepare(int c) const {
    const auto scales = load_any<float, P>(gamma, c), shifts = load_any<float, P>(beta, c);
    Pack<Weights, P> weights;
#pragma unroll
    for (int j = 0; j < P; ++j) weights.at[j] = {scales.at[j], shifts.at[j]};
    return weights;
  }
  template <class S, class T>
  __device__ T operator()(const S& s, const Weights& weights, T x) const {
    return cuda::to_memory<T>(s.normal(in_register(x), weights.scale, weights.shift));
  }
  // Output K of the op, of which there is one for each row.
  template <int K, class S>
  __device__ auto output(const S& s) const {
    if constexpr (K == 1)
      return s.mean;
    else
      return s.inverse;
  }
};

struct RmsNorm {
  double eps;
  const float* gamma;

  __device__ RmsNorm(const RmsNormAttrs& attrs, const float* scale)
      : eps(attrs.eps), gamma(scale) {}

  template <class P, class X>
  __device__ auto over_row(const P& row, const X& x) const {
    return rms_norm_detail::RowStatistics<float>(each_of(row, x), row.columns, eps);
  }
  template <int P>
  __device__ Pack<float, P> prepare(int c) const {
    return load_any<float, P>(gamma, c);
  }
  template <class S, class T>
  __device__ T operator()(const S& s, float scale, T x) const {
    return cuda::to_memory<T>(s.normal(in_register(x), scale));
  }
  template <int K, class S>
  __device__ auto output(const S& s) const {
    return s.inverse;
  }
};

template <bool kLog>
struct Softmax {
  template <class P, class X>
  __device__ auto over_row(const P& row, const X& x) const {
    return softmax_detail::RowSums<kLog, float>(each_of(row, x));
  }
  template <class S, class T>
  __device__ T operator()(const S& s, T x) const {
    return cuda::to_memory<T>(s.result(in_register(x)));
  }
};

template <bool kLog>
struct SoftmaxGradient {
  template <class P, class G, class Y>
  __device__ auto over_row(const P& row, const G& dy, const Y& y) const {
    return softmax_detail::GradientSum<kLog, float>(each_of(row, dy, y));
  }
  template <class S, class T>
  __device__ T operator()(const S& s, T dy, T y) const {
    return cuda::to_memory<T>(s.result(in_register(dy), in_register(y)));
  }
};

// Neighbours in a row of N that fall to one thread.
template <int N>
constexpr int kNeighbours = N % kRowPack == 0 ? kRowPack : 1;

// The gradient of a norm by x, and sums over the rows of this block: of dy xhat, and for a norm
// that subtracts a mean of dy. Blocks take rows in turn (each_row_in_turn).
template <bool kCentred>
struct NormGradient {
  static constexpr int kSums = kCentred ? 2 : 1;
  const float* gamma;

  // What this thread has of its columns: in registers, from the first row to the last.
  struct Column {
    float gamma, sums[kSums];
  };
  template <int N>
  struct Columns {
    using Mine = Part<N, kNeighbours<N>, int>;
    Column of[Mine::kPieces][Mine::kTogether];

    __device__ explicit Columns(const float* gamma) {
      Mine{0, N}.each([&](int h, int, int c) {
        const auto weights = load_any<float, Mine::kTogether>(gamma, c);
#pragma unroll
        for (int j = 0; j < Mine::kTogether; ++j) of[h][j] = {weights.at[j], {}};
      });
    }
    // To sums [blocks, kSums, N].
    __device__ void leave(void* sums) const {
      Mine{0, N}.each([&](int h, int, int c) {
#pragma unroll
        for (int k = 0; k < kSums; ++k)
#pragma unroll
          for (int j = 0; j < Mine::kTogether; ++j)
            static_cast<float*>(sums)[(int64_t{blockIdx.x} * kSums + k) * N + c + j] =
                of[h][j].sums[k];
      });
    }
  };
  template <int N>
  __device__ Columns<N> columns() const {
    return Columns<N>(gamma);
  }

  struct Statistics {
    norm_gradient::Normal<float> normal;
    norm_gradient::GradientMeans<kCentred, float> means;
  };
  template <class P, class Weights, class G, class X>
  __device__ Statistics over_row(const P& row, const Weights& weights, const G& dy, const X& x,
                                 const Pack<double, 1>& mean, const Pack<float, 1>& inverse) const {
    const norm_gradient::Normal<float> normal{layer_norm_detail::Split<float>(mean.at[0]),
                                              inverse.at[0]};
    const auto each = [&](const auto& f) {
      row.each([&](int h, auto, int) {
#pragma unroll
        for (int j = 0; j < P::kTogether; ++j)
          f(in_register(dy[h].at[j]), normal.of(in_register(x[h].at[j])), weights.of[h][j].gamma);
      });
    };
    return {normal, norm_gradient::GradientMeans<kCentred, float>(each, row.columns)};
  }
  template <class P, class Weights, class G, class X>
  __device__ Statistics over_row(const P& row, const Weights& weights, const G& dy, const X& x,
                                 const Pack<float, 1>& inverse) const {
    return over_row(row, weights, dy, x, {}, inverse);
  }
  template <class T>
  __device__ T operator()(const Statistics& s, Column& column, T dy, T x) const {
    const float d = in_register(dy), xhat = s.normal.of(in_register(x));
    column.sums[0] = std::fma(d, xhat, column.sums[0]);
    if constexpr (kCentred) column.sums[1] += d;
    return cuda::to_memory<T>(s.means.gradient(d, xhat, column.gamma, s.normal.inverse));
  }
};

// body(part of the row) for the row of this block.
template <int N, class Index, class Body>
__device__ void each_row(const KernelArguments& arguments, const Body& body) {
  body(Part<N, kNeighbours<N>, Index>{static_cast<Index>(blockIdx.x), arguments.columns});
}

// The same for one row after another, where there are fewer blocks.
template <int N, class Index, class Body>
__device__ void each_row_in_turn(const KernelArguments& arguments, const Body& body) {
  for (int64_t row = blockIdx.x; row < arguments.rows; row += gridDim.x)
    body(Part<N, kNeighbours<N>, Index>{static_cast<Index>(row), arguments.columns});
}

}  // namespace plimsoll::element
