// Elements in memory as kernels compute with them: f16 and bf16 in float, integers and bool in
// int64_t. The type in memory is known at run time and the same for a whole launch, so a kernel is
// compiled once for float, double and, where it has to do with integers, int64_t.
//
//   template <class C>
//   __global__ void square_kernel(Elements<C> x, Elements<C> y, int64_t n) {
//     for (int64_t i = first_index(); i < n; i += total_threads()) y.set(i, x.get(i) * x.get(i));
//   }
//   visit_elements(dtype, [&]<class C>() { launch(square_kernel<C>, ..., elements<C>(x), ...); });
//
// Where elements lie side by side, a thread takes a pack of them: a GPU has too few threads to keep
// its memory busy with 16 bits for each.
#pragma once

#include "core/cuda/convert.cuh"
#include "core/cuda/runtime.h"

namespace plimsoll::cuda {

constexpr int kPack = 4;  // neighbours that a thread takes at once
constexpr int64_t packs_in(int64_t n) { return (n + kPack - 1) / kPack; }

template <class T>
struct alignas(sizeof(T) * kPack < 16 ? sizeof(T) * kPack : 16) Pack {
  T of[kPack];
};

// Elements i to i + kPack - 1 of an array of n, or as many of them as there are.
template <class T>
__device__ Pack<T> read_pack(const T* from, int64_t i, int64_t n) {
  from += i;
  if (i + kPack <= n && reinterpret_cast<uintptr_t>(from) % alignof(Pack<T>) == 0)
    return *reinterpret_cast<const Pack<T>*>(from);
  Pack<T> pack{};
  for (int j = 0; j < kPack; ++j)
    if (i + j < n) pack.of[j] = from[j];
  return pack;
}
template <class T>
__device__ void write_pack(const Pack<T>& pack, T* to, int64_t i, int64_t n) {
  to += i;
  if (i + kPack <= n && reinterpret_cast<uintptr_t>(to) % alignof(Pack<T>) == 0) {
    *reinterpret_cast<Pack<T>*>(to) = pack;
    return;
  }
  for (int j = 0; j < kPack; ++j)
    if (i + j < n) to[j] = pack.of[j];
}

// Where the first pack of this thread begins, of a row that its block walks pack by pack. Packs
// begin at multiples of kPack, so the first one may begin before the row: what it reads there
// another block may be writing, and is not used. In which order a row is added up depends on where
// it begins.
__device__ inline int64_t first_pack(int64_t start_of_row) {
  return start_of_row - start_of_row % kPack + threadIdx.x * kPack;
}

template <class C>
struct Elements {
  std::byte* data = nullptr;
  DType dtype = DType::f32;

  // Calls f.template operator()<T>() for the type in memory, one of those that C is computed for.
  // Masks of bool may stand beside any.
  template <class F>
  __device__ void visit(F&& f) const {
    if constexpr (std::is_same_v<C, double>) {
      if (dtype == DType::f64) return f.template operator()<double>();
    } else if constexpr (std::is_same_v<C, float>) {
      if (dtype == DType::f32) return f.template operator()<float>();
      if (dtype == DType::bf16) return f.template operator()<BFloat16>();
      if (dtype == DType::f16) return f.template operator()<Half>();
    } else {
      if (dtype == DType::i64) return f.template operator()<int64_t>();
      if (dtype == DType::i32) return f.template operator()<int32_t>();
      if (dtype == DType::u8) return f.template operator()<uint8_t>();
    }
    f.template operator()<bool>();
  }

  __device__ C get(int64_t i) const {
    C result{};
    visit([&]<class T>() { result = to_register<C>(reinterpret_cast<const T*>(data)[i]); });
    return result;
  }
  __device__ void set(int64_t i, C value) const {
    visit([&]<class T>() { reinterpret_cast<T*>(data)[i] = to_memory<T>(value); });
  }

  // The same of a pack; what is not below n is 0, or is not written.
  __device__ void get(int64_t i, int64_t n, C (&values)[kPack]) const {
    visit([&]<class T>() {
      const Pack<T> pack = read_pack(reinterpret_cast<const T*>(data), i, n);
      for (int j = 0; j < kPack; ++j) values[j] = to_register<C>(pack.of[j]);
    });
  }
  __device__ void set(int64_t i, int64_t n, const C (&values)[kPack]) const {
    visit([&]<class T>() {
      Pack<T> pack;
      for (int j = 0; j < kPack; ++j) pack.of[j] = to_memory<T>(values[j]);
      write_pack(pack, reinterpret_cast<T*>(data), i, n);
    });
  }
};

template <class C>
Elements<C> elements(const View& view) {
  return {view.as<std::byte>(), view.dtype()};
}

// Calls f.template operator()<C>() with what elements of this type are computed in; with float or
// double for a floating one.
template <class F>
void visit_elements(DType dtype, F&& f) {
  if (dtype == DType::f64) return f.template operator()<double>();
  if (is_floating(dtype)) return f.template operator()<float>();
  f.template operator()<int64_t>();
}
template <class F>
void visit_floating_elements(DType dtype, F&& f) {
  if (dtype == DType::f64) return f.template operator()<double>();
  f.template operator()<float>();
}

}  // namespace plimsoll::cuda
