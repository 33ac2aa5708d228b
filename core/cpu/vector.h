// Vectors of the machine's own width, for the innermost loops of products and convolutions, whose
// sums must stay in registers. They are GCC's and Clang's (__attribute__((vector_size))), which
// become whatever instructions the target has; a plain T serves as a vector of one.
//
//   Vector<float> sum = {};
//   sum += a * load<Vector<float>>(p);                 // a fused multiply-add where there is one
#pragma once

#include <cstdint>
#include <cstring>

namespace plimsoll {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64, kBlockRows = 12;  // 12 x 2 sums in 32 registers
#elif defined(__AVX__)
constexpr int kVectorBytes = 32, kBlockRows = 6;  // 6 x 2 sums in 16 registers
#else
constexpr int kVectorBytes = 16, kBlockRows = 6;
#endif
template <class T>
constexpr int64_t kLanes = kVectorBytes / sizeof(T);
template <class T>
constexpr int64_t kBlockColumns = 2 * kLanes<T>;  // a block of sums is two vectors wide

template <class T>
struct VectorOf {
  typedef T type __attribute__((vector_size(kVectorBytes)));
};
template <class T>
using Vector = typename VectorOf<T>::type;

// Vectors in memory may lie anywhere.
template <class V, class T>
V load(const T* p) {
  V v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <class V, class T>
void store(T* p, V v) {
  std::memcpy(static_cast<void*>(p), &v, sizeof v);
}

// Calls f.template operator()<n>() for the n in 1 ... Max that is given.
template <int Max, class F>
void with_count(int64_t n, F&& f) {
  if constexpr (Max > 0) {
    if (n == Max)
      f.template operator()<Max>();
    else
      with_count<Max - 1>(n, f);
  }
}

}  // namespace plimsoll
