#include <limits>

#include "core/op.h"
#include "ops/loss_scale/loss_scale.h"
#include "ops/many.cuh"

namespace plimsoll {
namespace {

using namespace cuda;

// x - x is 0 for finite numbers only.
template <class C>
__global__ void nonfinite_kernel(Many<C, 1> many, bool* found) {
  const auto chunk = many.chunk(blockIdx.x);
  bool own = false;
  read_row(
      chunk.n, chunk.packs, [&](int64_t, C v) { own = own || !(v - v == 0); }, chunk.row[0]);
  if (own) *found = true;  // whoever writes, it is the same
}

template <class C>
__global__ void unscale_kernel(Many<C, 2> many, Scalar scale) {
  const C divisor = static_cast<C>(scale.get());
  const auto chunk = many.chunk(blockIdx.x);
  write_row(
      chunk.n, chunk.packs, chunk.row[1], [&](int64_t, C v) { return v / divisor; }, chunk.row[0]);
}

__global__ void update_scale_kernel(float* scale, int64_t* good, const bool* skip,
                                    LossScaleUpdate options) {
  if (*skip) {
    const auto lower = static_cast<float>(*scale * options.backoff);
    if (lower >= std::numeric_limits<float>::min()) *scale = lower;
    *good = 0;
  } else if (++*good >= options.interval) {
    const auto higher = static_cast<float>(*scale * options.growth);
    if (higher <= std::numeric_limits<float>::max()) *scale = higher;
    *good = 0;
  }
}

}  // namespace

void nonfinite_cuda(const Call& call) {
  bool* found = call.out[0].as<bool>();
  check_cuda(cudaMemsetAsync(found, 0, sizeof(bool), stream()), "cudaMemsetAsync");
  for_many<1>(each(call.in), [&]<class C>(const Many<C, 1>& many, int64_t) {
    launch(nonfinite_kernel<C>, many.chunks(), kThreads, many, found);
  });
}

void unscale_cuda(const Call& call) {
  for_many<2>({{&call.in[0], &call.out[0]}}, [&]<class C>(const Many<C, 2>& many, int64_t) {
    launch(unscale_kernel<C>, many.chunks(), kThreads, many, scalar(call.in[1]));
  });
}

void update_loss_scale_cuda(const Call& call) {
  for_calls(call, 3, [&](std::span<const View> in) {
    launch(update_scale_kernel, 1, 1, in[0].as<float>(), in[1].as<int64_t>(), in[2].as<bool>(),
           call.attrs.as<LossScaleUpdate>());
  });
}

}  // namespace plimsoll
