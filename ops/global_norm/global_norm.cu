#include "core/op.h"
#include "ops/global_norm/attrs.h"
#include "ops/many.cuh"
#include "ops/scalar.cuh"

namespace plimsoll {
namespace {

using namespace cuda;

template <class C>
__global__ void squares_kernel(Many<C> many, double* partial) {
  const Chunk<C> chunk = many.chunk(blockIdx.x);
  double total = 0;
  read_row(
      chunk.n, chunk.packs,
      [&](int64_t, C v) { total += static_cast<double>(v) * static_cast<double>(v); }, chunk.row);
  total = over_block(total, Plus());
  if (threadIdx.x == 0) partial[blockIdx.x] = total;
}

// One block.
template <class C>
__global__ void root_kernel(const double* partial, int64_t n, C* norm) {
  double total = 0;
  for (int64_t i = threadIdx.x; i < n; i += blockDim.x) total += partial[i];
  total = over_block(total, Plus());
  if (threadIdx.x == 0) *norm = static_cast<C>(std::sqrt(total));
}

template <class C>
__global__ void scale_kernel(Elements<C> x, Scalar norm, double max_norm, Elements<C> y, int64_t n,
                             bool packs) {
  const double limit = max_norm / (norm.get() + 1e-6);
  const C scale = static_cast<C>(limit > 1 ? 1 : limit);
  write_all(
      n, packs, Row<C>{y, 0}, [&](int64_t, C v) { return v * scale; }, Row<C>{x, 0});
}

}  // namespace

void global_norm_cuda(const Call& call) {
  auto* partial = reinterpret_cast<double*>(call.workspace.data());
  int64_t used = 0;
  for_many(call.in, [&]<class C>(const Many<C>& many, int64_t before) {
    launch(squares_kernel<C>, many.chunks(), kThreads, many, partial + before);
    used = before + many.chunks();
  });
  visit_floating_elements(call.out[0].dtype(), [&]<class C>() {
    launch(root_kernel<C>, 1, kThreads, partial, used, call.out[0].as<C>());
  });
}

void scale_to_norm_cuda(const Call& call) {
  const View &x = call.in[0], &y = call.out[0];
  const int64_t n = count(y.shape());
  visit_floating_elements(y.dtype(), [&]<class C>() {
    launch(scale_kernel<C>, blocks_for(n), kThreads, elements<C>(x), scalar(call.in[1]),
           call.attrs.as<ScaleAttrs>().max_norm, elements<C>(y), n, in_packs(n, x, y));
  });
}

}  // namespace plimsoll
