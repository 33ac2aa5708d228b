#include "core/cpu/widen.h"

#include "core/cpu/copy.h"
#include "core/cpu/parallel.h"

namespace plimsoll {
namespace {

bool is_16_bit(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

template <class F>
void visit_16_bit(DType dtype, F&& f) {
  dtype == DType::f16 ? f.template operator()<Half>() : f.template operator()<BFloat16>();
}

}  // namespace

int64_t widened_bytes(const Meta& meta) {
  return is_16_bit(meta.dtype) ? block_bytes(2 * bytes_of(meta)) : 0;
}

View widened_like(const View& view, std::byte*& scratch) {
  if (!is_16_bit(view.dtype())) return view;
  View result{scratch, {view.shape(), DType::f32, view.meta.device}, row_major(view.shape())};
  scratch += widened_bytes(view.meta);
  return result;
}

View widen(const View& view, std::byte*& scratch) {
  const View result = widened_like(view, scratch);
  if (!is_16_bit(view.dtype())) return result;
  visit_16_bit(view.dtype(), [&]<class T>() {
    const T* x = view.as<T>();
    float* y = result.as<float>();
    if (view.contiguous()) {
      parallel_for(count(view.shape()), grain_for(1), [&](int64_t begin, int64_t end) {
#pragma omp simd
        for (int64_t i = begin; i < end; ++i) y[i] = static_cast<float>(x[i]);
      });
    } else {
      for_each_offset(view.shape(), view.strides,
                      [&](int64_t offset) { *y++ = static_cast<float>(x[offset]); });
    }
  });
  return result;
}

void narrow(const View& from, const View& to) {
  if (from.data == to.data) return;
  visit_16_bit(to.dtype(), [&]<class T>() {
    const float* x = from.as<float>();
    T* y = to.as<T>();
    parallel_for(count(to.shape()), grain_for(1), [&](int64_t begin, int64_t end) {
#pragma omp simd
      for (int64_t i = begin; i < end; ++i) y[i] = static_cast<T>(x[i]);
    });
  });
}

}  // namespace plimsoll
