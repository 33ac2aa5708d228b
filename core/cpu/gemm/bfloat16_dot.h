// Products of bfloat16 by the processor's own instruction: VDPBF16PS (AVX512-BF16) adds two
// products of neighbouring terms to a sum in f32. A pair of terms is an element of the operands
// like any other, so that gemm() packs and multiplies them as it does f32, in half the memory and
// half the instructions.
//
//   if (bfloat16_products() == BFloat16Products::dot)
//     gemm<BFloat16Pair>(m, n, k / 2, {a, k / 2, 1}, {b, n, 1}, c, n);  // c: f32
#pragma once

#include "core/base/half.h"
#include "core/cpu/gemm/bfloat16.h"
#include "core/cpu/vector.h"

namespace plimsoll {

// Terms 2 i and 2 i + 1 of a row of A, or of a column of B.
struct BFloat16Pair {
  BFloat16 even, odd;
};

template <>
struct VectorOf<BFloat16Pair> {
  using type = Vector<uint32_t>;
};

// What products of T are added up in.
template <class T>
struct AccumulatorOf {
  using type = T;
};
template <>
struct AccumulatorOf<BFloat16Pair> {
  using type = float;
};
template <class T>
using Accumulator = typename AccumulatorOf<T>::type;

// How many terms of a sum an element is.
template <class E>
constexpr int64_t kTermsPerElement = std::is_same_v<E, BFloat16Pair> ? 2 : 1;

// sum += a b. Of a pair the odd term is added first; products of two bfloat16 are exact in f32, so
// each is rounded once, as a multiply-add is. The instruction reads subnormal numbers as 0 and
// leaves none. So a product has other last bits than that of widened operands.
template <class T>
[[gnu::always_inline]] inline void add_product(Vector<T>& sum, const T& a, Vector<T> b) {
  sum += a * b;
}
[[gnu::always_inline]] inline void add_product(Vector<float>& sum, const BFloat16Pair& a,
                                               Vector<uint32_t> b) {
  const Vector<uint32_t> left = Vector<uint32_t>{} + std::bit_cast<uint32_t>(a);
#if defined(__AVX512F__)
  // Written as text, so that code for this level can hold it: who calls it has asked.
  asm("vdpbf16ps %2, %1, %0" : "+v"(sum) : "v"(left), "v"(b));
#else
  const auto product = [](Vector<uint32_t> x, Vector<uint32_t> y) {
    return std::bit_cast<Vector<float>>(x) * std::bit_cast<Vector<float>>(y);
  };
  sum += product(left & 0xffff0000u, b & 0xffff0000u);
  sum += product(left << 16, b << 16);
#endif
}

}  // namespace plimsoll
