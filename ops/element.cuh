// Pointwise ops as function objects of single elements as they lie in memory, and the loop around
// several of them: what generated kernels (memory/fusion/source.h) are written in. They are
// compiled at run time, by NVRTC or, in the simulation, by the compiler of the host.
//
//   PLIMSOLL_KERNEL(fused_1) {                                        // y = relu(x + bias)
//     const auto f0 = element::Binary<formulas::Add>{};
//     const auto f1 = element::Unary<formulas::Relu>{};
//     element::each<4, uint32_t>(arguments, 8192, [&]<int P>(uint32_t i) {
//       const auto in0 = element::load<float, P>(arguments.at[0], i);
//       const auto in1 = element::load<float, P>(arguments.at[1], i % 256);
//       element::Pack<float, P> out0;
//       for (int j = 0; j < P; ++j) {
//         const float v0 = f0(in0.at[j], in1.at[j]);
//         const float v1 = f1(v0);
//         out0.at[j] = v1;
//       }
//       element::store(arguments.at[2], i, out0);
//     });
//   }
//
// An op has the bits it has by itself: the same formula, between the same conversions, and no
// multiplication of one op is contracted with an addition of the next (in_register).
#pragma once

#include <functional>

#include "core/cuda/convert.cuh"
#include "core/kernel_arguments.h"
#include "ops/activations/formulas.h"
#include "ops/arithmetic/formulas.h"
#include "ops/copy/convert.cuh"
#include "ops/dropout/attrs.h"
#include "ops/dropout/bits.h"
#include "ops/extrema/formulas.h"
#include "ops/gelu/formulas.h"
#include "ops/math/formulas.h"
#include "ops/pow/formulas.h"
#include "ops/relu/formulas.h"
#include "ops/softplus/formulas.h"

#define PLIMSOLL_KERNEL(name) extern "C" __global__ void name(plimsoll::KernelArguments arguments)

namespace plimsoll {

// Attributes from their bits.
template <class A>
constexpr A constants(const std::array<uint64_t, sizeof(A) / 8>& words) {
  return std::bit_cast<A>(words);
}

namespace element {

template <class T>
using Register = std::conditional_t<std::is_integral_v<T>, int64_t,
                                    std::conditional_t<std::is_same_v<T, double>, double, float>>;

#ifdef __CUDACC__
// -0 in the memory of constants, which neither compiler may know the value of.
__constant__ float kMinusZero = -0.0f;
__constant__ double kMinusZeroWide = -0.0;
#endif

// The same number, which the compiler knows nothing about: what makes it stays what it is, rounded.
__device__ inline float apart(float x) {
#ifdef __CUDACC__  // an addition that rounds by itself is not contracted, and x + -0 is x
  asm volatile("add.rn.f32 %0, %0, %1;" : "+f"(x) : "f"(kMinusZero));
#else
  asm volatile("" : "+m"(x));
#endif
  return x;
}
__device__ inline double apart(double x) {
#ifdef __CUDACC__
  asm volatile("add.rn.f64 %0, %0, %1;" : "+d"(x) : "d"(kMinusZeroWide));
#else
  asm volatile("" : "+m"(x));
#endif
  return x;
}
__device__ inline int64_t apart(int64_t x) { return x; }

// An element as an op computes with it: by itself, whichever op made it.
template <class T>
__device__ Register<T> in_register(T x) {
  return apart(cuda::to_register<Register<T>>(x));
}

template <class F>
struct Unary {
  ConstantsOf<F> constants{};
  template <class T>
  __device__ T operator()(T x) const {
    return cuda::to_memory<T>(value<F>(in_register(x), constants));
  }
};

template <class F>
struct Gradient {
  ConstantsOf<F> constants{};
  template <class T>
  __device__ T operator()(T dy, T saved) const {
    return cuda::to_memory<T>(gradient<F>(in_register(dy), in_register(saved), constants));
  }
};

template <class F>
struct Binary {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return cuda::to_memory<T>(F::f(in_register(a), in_register(b)));
  }
};

template <class F>
struct Ternary {
  template <class T>
  __device__ T operator()(T a, T b, T c) const {
    return cuda::to_memory<T>(F::f(in_register(a), in_register(b), in_register(c)));
  }
};

// F: std::less<> and the like.
template <class F>
struct Compare {
  template <class T>
  __device__ bool operator()(T a, T b) const {
    return F()(in_register(a), in_register(b));
  }
};

template <class To>
struct Cast {
  template <class T>
  __device__ To operator()(T x) const {
    return cuda::converted<To>(in_register(x));
  }
};

struct Copy {
  template <class T>
  __device__ T operator()(T x) const {
    return x;
  }
};

struct Select {
  template <class T>
  __device__ T operator()(bool condition, T a, T b) const {
    return condition ? a : b;
  }
};

// Neighbours that are moved at once: 16 bytes at most.
template <class T, int N>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Pack {
  T at[N];
};

// What an op needs that has inputs of its own (OpDef::whole): prepared for N elements at once.
struct Dropout {
  double p;
  DropoutBits bits;

  __device__ Dropout(const DropoutAttrs& attrs, const int64_t* key)
      : p(attrs.p), bits(attrs.p, attrs.site, key) {}
  // The random words of elements i ... i + N - 1. Packs of four take whole blocks of words.
  template <int N>
  __device__ Pack<uint32_t, N> prepare(int64_t i) const {
    Pack<uint32_t, N> words;
    if constexpr (N % 4 == 0) {
      for (int j = 0; j < N; j += 4) {
        const auto block = bits.words((i + j) / 4);
        for (int k = 0; k < 4; ++k) words.at[j + k] = block[k];
      }
    } else {
      for (int j = 0; j < N; ++j) words.at[j] = bits.word((i + j) / 4, (i + j) % 4);
    }
    return words;
  }
  template <class T>
  __device__ T operator()(uint32_t word, T x) const {
    using C = Register<T>;
    return cuda::to_memory<T>(bits.keeps(word) ? in_register(x) * static_cast<C>(1 / (1 - p))
                                               : C(0));
  }
};

template <class T, int N>
__device__ Pack<T, N> load(const void* data, int64_t i) {
  return *reinterpret_cast<const Pack<T, N>*>(static_cast<const T*>(data) + i);
}
template <class T, int N>
__device__ void store(void* data, int64_t i, const Pack<T, N>& pack) {
  *reinterpret_cast<Pack<T, N>*>(static_cast<T*>(data) + i) = pack;
}

// body.operator()<N>(i) for the packs of N elements, then body.operator()<1>(i) for the rest.
template <int N, class Index, class Body>
__device__ void each(const KernelArguments& arguments, Index count, const Body& body) {
  const Index first = static_cast<Index>(blockIdx.x) * blockDim.x + threadIdx.x;
  const Index all = static_cast<Index>(gridDim.x) * blockDim.x;
  const Index packs = static_cast<Index>(arguments.packs);
  for (Index k = first; k < packs; k += all) body.template operator()<N>(k * N);
  for (Index i = packs * N + first; i < count; i += all) body.template operator()<1>(i);
}

}  // namespace element
}  // namespace plimsoll
