#include "core/cuda/copy.h"

#include "core/cuda/elements.cuh"
#include "core/cuda/walk.cuh"

namespace plimsoll::cuda {
namespace {

// Each thread moves packs of N elements, which lie side by side in both operands.
template <class T, int N>
__global__ void copy_kernel(const T* from, T* to, Walk<2> walk) {
  for (int64_t i = first_index() * N; i < walk.count; i += total_threads() * N) {
    const auto at = walk.offsets(i);
    *reinterpret_cast<Pack<T, N>*>(to + at[1]) = *reinterpret_cast<const Pack<T, N>*>(from + at[0]);
  }
}

template <class T>
void copy_typed(const View& from, const View& to) {
  constexpr int most = 16 / sizeof(T);
  const Walk<2> walk(from.shape(), {from.strides, to.strides});
  const View* const views[] = {&from, &to};
  const bool repeats = walk.rank > 0 && walk.step[0][0] == 0;
  if (!repeats && walk.together(most, views) == most)
    launch(copy_kernel<T, most>, blocks_for(walk.count / most), kThreads, from.as<T>(), to.as<T>(),
           walk);
  else
    launch(copy_kernel<T, 1>, blocks_for(walk.count), kThreads, from.as<T>(), to.as<T>(), walk);
}

}  // namespace

void copy_strided(const View& from, const View& to) {
  const int64_t n = count(from.shape());
  if (n == 0) return;
  if (from.contiguous() && to.contiguous())
    return cuda_api().copy(to.data, from.data, n * size_of(from.dtype()), CudaCopy::within);
  visit_width(size_of(from.dtype()), [&]<class T>() { copy_typed<T>(from, to); });
}

}  // namespace plimsoll::cuda
