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

// How many neighbours a thread moves at once where their addresses allow: 16 bytes of f32. Those of
// f64, which is there to compare with, are moved one by one, which halves what there is to compile.
constexpr int kTogether = 4;
template <class C>
constexpr bool kMovesPacks = !std::is_same_v<C, double>;

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

  // The same for kTogether neighbours from i on, which lie on a boundary of their size.
  struct Several {
    C at[kTogether];
  };
  __device__ Several get_several(int64_t i) const {
    Several result;
    visit([&]<class T>() {
      const auto pack =
          *reinterpret_cast<const Pack<T, kTogether>*>(reinterpret_cast<T*>(data) + i);
      for (int j = 0; j < kTogether; ++j) result.at[j] = to_register<C>(pack.at[j]);
    });
    return result;
  }
  __device__ void set_several(int64_t i, const Several& values) const {
    visit([&]<class T>() {
      Pack<T, kTogether> pack;
      for (int j = 0; j < kTogether; ++j) pack.at[j] = to_memory<T>(values.at[j]);
      *reinterpret_cast<Pack<T, kTogether>*>(reinterpret_cast<T*>(data) + i) = pack;
    });
  }
};

template <class C>
Elements<C> elements(const View& view) {
  return {view.as<std::byte>(), view.dtype()};
}

// Whether rows of `width` elements from the start of a view can be read by get_several().
inline bool in_packs(const View& view, int64_t width) {
  const auto bytes = static_cast<uintptr_t>(kTogether * size_of(view.dtype()));
  return view.dtype() != DType::f64 && width % kTogether == 0 &&
         reinterpret_cast<uintptr_t>(view.data) % bytes == 0;
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
