#include "core/cuda/copy.h"

#include "core/cuda/elements.cuh"
#include "core/cuda/walk.cuh"

namespace plimsoll::cuda {
namespace {

template <class T>
__global__ void copy_packs_kernel(const T* from, T* to, Walk<2> walk) {
  for (int64_t i = first_index() * kPack; i < walk.count; i += total_threads() * kPack) {
    const auto at = walk.offsets(i);
    write_pack(read_pack(from, at[0], at[0] + kPack), to, at[1], at[1] + kPack);
  }
}

template <class T>
__global__ void copy_kernel(const T* from, T* to, Walk<2> walk) {
  for (int64_t i = first_index(); i < walk.count; i += total_threads()) {
    const auto at = walk.offsets(i);
    to[at[1]] = from[at[0]];
  }
}

}  // namespace

void copy_strided(const View& from, const View& to) {
  const int64_t n = count(from.shape());
  if (n == 0) return;
  if (from.contiguous() && to.contiguous())
    return cuda_api().copy(to.data, from.data, n * size_of(from.dtype()), CudaCopy::within);
  const Walk<2> walk(from.shape(), {from.strides, to.strides});
  const bool packed = walk.in_packs(kPack) && walk.step[0][0] == 1 && walk.step[1][0] == 1;
  visit_width(size_of(from.dtype()), [&]<class T>() {
    if (packed)
      return launch(copy_packs_kernel<T>, blocks_for(packs_in(n)), kThreads, from.as<T>(),
                    to.as<T>(), walk);
    launch(copy_kernel<T>, blocks_for(n), kThreads, from.as<T>(), to.as<T>(), walk);
  });
}

}  // namespace plimsoll::cuda
