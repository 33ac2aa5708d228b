#include "core/op.h"
#include "ops/global_norm/attrs.h"
#include "ops/many.cuh"

namespace plimsoll {
namespace {

using namespace cuda;

template <class C>
__global__ void squares_kernel(Many<C, 1> many, double* partial) {
  const auto chunk = many.chunk(blockIdx.x);
  double total = 0;
  read_row(
      chunk.n, chunk.packs,
      [&](int64_t, C v) { total += static_cast<double>(v) * static_cast<double>(v); },
      chunk.row[0]);
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

// y = x scaled down to a norm of max_norm.
template <class C>
__global__ void scale_kernel(Many<C, 2> many, Scalar norm, double max_norm) {
  const double limit = max_norm / (norm.get() + 1e-6);
  const C scale = static_cast<C>(limit > 1 ? 1 : limit);
  const auto chunk = many.chunk(blockIdx.x);
  write_row(
      chunk.n, chunk.packs, chunk.row[1], [&](int64_t, C v) { return v * scale; }, chunk.row[0]);
}

}  // namespace

void global_norm_cuda(const Call& call) {
  auto* partial = reinterpret_cast<double*>(call.workspace.data());
  int64_t used = 0;
  for_many<1>(each(call.in), [&]<class C>(const Many<C, 1>& many, int64_t before) {
    launch(squares_kernel<C>, many.chunks(), kThreads, many, partial + before);
    used = before + many.chunks();
  });
  visit_floating_elements(call.out[0].dtype(), [&]<class C>() {
    launch(root_kernel<C>, 1, kThreads, partial, used, call.out[0].as<C>());
  });
}

void scale_to_norm_cuda(const Call& call) {
  for_many<2>({{&call.in[0], &call.out[0]}}, [&]<class C>(const Many<C, 2>& many, int64_t) {
    launch(scale_kernel<C>, many.chunks(), kThreads, many, scalar(call.in[1]),
           call.attrs.as<ScaleAttrs>().max_norm);
  });
}

}  // namespace plimsoll
