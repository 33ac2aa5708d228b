#include "core/cuda/copy.h"
#include "core/cuda/launch.cuh"
#include "ops/shape/rearrange/attrs.h"

namespace plimsoll {
namespace cuda {
namespace {

template <class T>
__global__ void triangle_kernel(const T* x, T* y, int64_t n, int64_t rows, int64_t columns,
                                int64_t shift, bool lower) {
  for (int64_t i = first_index(); i < n; i += total_threads()) {
    const bool before = i % columns < i / columns % rows + shift;
    y[i] = before == lower ? x[i] : T(0);
  }
}

// Bits are copied, so only the width of the type matters.
template <class T>
void triangle(const Call& call) {
  const auto& attrs = call.attrs.as<TriangleAttrs>();
  const Shape& shape = call.out[0].shape();
  const int64_t columns = shape.back(), rows = shape[shape.rank() - 2], n = count(shape);
  launch(triangle_kernel<T>, blocks_for(n), kThreads, call.in[0].as<T>(), call.out[0].as<T>(), n,
         rows, columns, triangle_shift(attrs, rows, columns), attrs.lower);
}

}  // namespace
}  // namespace cuda

void flip_cuda(const Call& call) {
  cuda::copy_strided(flipped(call.in[0], call.attrs.as<FlipAttrs>().axes), call.out[0]);
}

void triangle_cuda(const Call& call) {
  visit_width(size_of(call.out[0].dtype()), [&]<class T>() { cuda::triangle<T>(call); });
}

}  // namespace plimsoll
