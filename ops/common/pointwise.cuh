// Pointwise kernels: the formulas of ops/common/formula.h on a GPU. The twin of
// ops/common/pointwise.h.
//
//   template void unary_cuda<formulas::Relu>(const Call&);  // in ops/pointwise/relu/relu.cu
//
// map() is the one loop behind all of them: y[i] = f(a[i], b[i], ...) over any number of inputs
// that broadcast to y.
#pragma once

#include "core/cuda/elements.cuh"
#include "core/cuda/walk.cuh"
#include "ops/common/formula.h"

namespace plimsoll {
namespace cuda {

template <class C, size_t N>
struct Operands {
  Elements<C> of[N];  // the output, then the inputs
};

// What a kernel of map() is given besides f.
template <class C, size_t N>
struct Mapping {
  Walk<N> walk;
  Operands<C, N> operands;
  bool packed = false;  // operands are read and written pack by pack

  // Inputs may be strided and are broadcast to the output's shape. In ops/common/pointwise.cu.
  explicit Mapping(const Call& call);
};

template <size_t N, class C, class F>
__device__ C result_of(const F& f, const C* x) {
  if constexpr (N == 1) return f();
  if constexpr (N == 2) return f(x[1]);
  if constexpr (N == 3) return f(x[1], x[2]);
  if constexpr (N == 4) return f(x[1], x[2], x[3]);
}

template <class C, size_t N, class F>
__global__ void map_kernel(Mapping<C, N> mapping, F f) {
  const auto& [walk, operands, packed] = mapping;
  if (!packed) {
    for (int64_t i = first_index(); i < walk.count; i += total_threads()) {
      const auto at = walk.offsets(i);
      C x[N];
      for (size_t k = 1; k < N; ++k) x[k] = operands.of[k].get(at[k]);
      operands.of[0].set(at[0], result_of<N>(f, x));
    }
    return;
  }
  for (int64_t i = first_index() * kPack; i < walk.count; i += total_threads() * kPack) {
    const auto at = walk.offsets(i);
    C x[N][kPack], y[kPack];
    for (size_t k = 1; k < N; ++k) {
      if (walk.step[k][0] == 1) {
        operands.of[k].get(at[k], at[k] + kPack, x[k]);
      } else {
        const C same = operands.of[k].get(at[k]);
        for (int j = 0; j < kPack; ++j) x[k][j] = same;
      }
    }
    for (int j = 0; j < kPack; ++j) {
      C own[N];
      for (size_t k = 1; k < N; ++k) own[k] = x[k][j];
      y[j] = result_of<N>(f, own);
    }
    operands.of[0].set(at[0], at[0] + kPack, y);
  }
}

// out[0][i] = f(in[0][i], ..., in[Inputs - 1][i]), computed in C: every operand is of a type that
// Elements<C> takes.
template <class C, size_t Inputs, class F>
void map(const Call& call, const F& f) {
  const Mapping<C, Inputs + 1> mapping(call);
  const int64_t work = mapping.packed ? packs_in(mapping.walk.count) : mapping.walk.count;
  launch(map_kernel<C, Inputs + 1, F>, blocks_for(work), kThreads, mapping, f);
}

}  // namespace cuda

template <class F>
struct UnaryOnCuda {
  ConstantsOf<F> constants;
  template <class C>
  __device__ C operator()(C x) const {
    if constexpr (requires { F::reach; } && !std::is_same_v<C, double>)
      if (!(x <= F::reach && x >= -F::reach))
        return static_cast<C>(value<F>(static_cast<double>(x), constants));
    return value<F>(x, constants);
  }
};

template <class F>
struct GradientOnCuda {
  ConstantsOf<F> constants;
  template <class C>
  __device__ C operator()(C dy, C saved) const {
    if constexpr (requires { F::reach; } && !std::is_same_v<C, double>)
      if (!(saved <= F::reach && saved >= -F::reach))
        return static_cast<C>(
            gradient<F>(static_cast<double>(dy), static_cast<double>(saved), constants));
    return gradient<F>(dy, saved, constants);
  }
};

template <class F>
struct BinaryOnCuda {
  template <class C>
  __device__ C operator()(C a, C b) const {
    return F::f(a, b);
  }
};

template <class F>
void unary_cuda(const Call& call) {
  cuda::visit_floating_elements(call.out[0].dtype(), [&]<class C>() {
    cuda::map<C, 1>(call, UnaryOnCuda<F>{constants_of<F>(call.attrs)});
  });
}

template <class F>
void unary_grad_cuda(const Call& call) {
  cuda::visit_floating_elements(call.out[0].dtype(), [&]<class C>() {
    cuda::map<C, 2>(call, GradientOnCuda<F>{constants_of<F>(call.attrs)});
  });
}

template <class F>
void binary_cuda(const Call& call) {
  const auto run = [&]<class C>() { cuda::map<C, 2>(call, BinaryOnCuda<F>()); };
  if constexpr (types_of<F> == Types::floating)
    cuda::visit_floating_elements(call.out[0].dtype(), run);
  else
    cuda::visit_elements(call.out[0].dtype(), run);
}

}  // namespace plimsoll
