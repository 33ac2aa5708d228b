#include "core/cpu/gemm/widen.h"

#include <algorithm>

#include "core/cpu/parallel.h"
#include "core/cpu/vector.h"

namespace plimsoll {
namespace {

bool has_16_bits(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

template <class F>
void visit_16_bit(DType dtype, F&& f) {
  dtype == DType::f16 ? f.template operator()<Half>() : f.template operator()<BFloat16>();
}

// Whether the elements lie one after another in some order of the axes: a transposed matrix.
bool is_dense(const View& view) {
  Shape axes;
  for (int axis = 0; axis < view.shape().rank(); ++axis)
    if (view.shape()[axis] != 1) axes.push_back(axis);
  std::sort(&axes[0], &axes[0] + axes.rank(),
            [&](int64_t a, int64_t b) { return view.strides[a] > view.strides[b]; });
  Shape sizes, strides;
  for (const int64_t axis : axes) {
    sizes.push_back(view.shape()[axis]);
    strides.push_back(view.strides[axis]);
  }
  return is_row_major(sizes, strides);
}

// y[i] = x[i], where n elements lie one after another.
template <class From, class To>
void convert_dense(const From* x, To* y, int64_t n) {
  parallel_for(n, grain_for(1), [&](int64_t begin, int64_t end) {
#pragma omp simd
    for (int64_t i = begin; i < end; ++i) y[i] = narrow<To>(x[i]);
  });
}

// Any strides, into row-major memory: rows along the last axis.
template <class T>
void widen_rows(const View& from, float* y) {
  const Shape& shape = from.shape();
  const int last = shape.rank() - 1;
  const int64_t run = shape[last], step = from.strides[last];
  parallel_for(count(shape) / run, grain_for(run), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const T* x = from.as<T>();
      for (int64_t axis = last - 1, rest = row; axis >= 0; rest /= shape[axis--])
        x += rest % shape[axis] * from.strides[axis];
      for (int64_t i = 0; i < run; ++i) y[row * run + i] = static_cast<float>(x[i * step]);
    }
  });
}

}  // namespace

int64_t widened_bytes(const Meta& meta) {
  return has_16_bits(meta.dtype) ? block_bytes(2 * bytes_of(meta)) : 0;
}

View widened_like(const View& view, std::byte*& scratch) {
  if (!has_16_bits(view.dtype())) return view;
  View result{scratch, {view.shape(), DType::f32, view.meta.device}, row_major(view.shape())};
  scratch += widened_bytes(view.meta);
  return result;
}

View widen(const View& view, std::byte*& scratch) {
  View result = widened_like(view, scratch);
  if (!has_16_bits(view.dtype())) return result;
  const bool dense = is_dense(view);
  if (dense) result.strides = view.strides;
  if (count(view.shape()) == 0) return result;
  visit_16_bit(view.dtype(), [&]<class T>() {
    dense ? convert_dense(view.as<T>(), result.as<float>(), count(view.shape()))
          : widen_rows<T>(view, result.as<float>());
  });
  return result;
}

void narrow(const View& from, const View& to) {
  if (from.data == to.data) return;
  visit_16_bit(to.dtype(),
               [&]<class T>() { convert_dense(from.as<float>(), to.as<T>(), count(to.shape())); });
}

}  // namespace plimsoll
