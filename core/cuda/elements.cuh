// Elements in memory as kernels compute with them: f16 and bf16 in float, integers and bool in
// int64_t. The type in memory is known at run time and the same for a whole launch, so a kernel is
// compiled once for float, double and, where it has to do with integers, int64_t.
//
//   template <class C>
//   __global__ void square_kernel(Elements<C> x, Elements<C> y, int64_t n) {
//     for (int64_t i = first_index(); i < n; i += total_threads()) y.set(i, x.get(i) * x.get(i));
//   }
//   visit_elements(dtype, [&]<class C>() { launch(square_kernel<C>, ..., elements<C>(x), ...); });
#pragma once

#include "core/cuda/convert.cuh"
#include "core/cuda/runtime.h"

namespace plimsoll::cuda {

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
