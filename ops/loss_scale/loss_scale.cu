#include <limits>

#include "core/op.h"
#include "ops/loss_scale/loss_scale.h"
#include "ops/many.cuh"
#include "ops/scalar.cuh"

namespace plimsoll {
namespace {

using namespace cuda;

// x - x is 0 for finite numbers only.
template <class C>
__global__ void nonfinite_kernel(Many<C> many, bool* found) {
  const Chunk<C> chunk = many.chunk(blockIdx.x);
  bool own = false;
  read_row(
      chunk.n, chunk.packs, [&](int64_t, C v) { own = own || !(v - v == 0); }, chunk.row);
  if (own) *found = true;  // whoever writes, it is the same
}

template <class C>
__global__ void unscale_kernel(Elements<C> x, Scalar scale, Elements<C> y, int64_t n, bool packs) {
  const C divisor = static_cast<C>(scale.get());
  write_all(
      n, packs, Row<C>{y, 0}, [&](int64_t, C v) { return v / divisor; }, Row<C>{x, 0});
}

__global__ void update_kernel(float* scale, int64_t* good, const bool* skip,
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
  for_many(call.in, [&]<class C>(const Many<C>& many, int64_t) {
    launch(nonfinite_kernel<C>, many.chunks(), kThreads, many, found);
  });
}

void unscale_cuda(const Call& call) {
  const View &x = call.in[0], &y = call.out[0];
  const int64_t n = count(y.shape());
  visit_floating_elements(y.dtype(), [&]<class C>() {
    launch(unscale_kernel<C>, blocks_for(n), kThreads, elements<C>(x), scalar(call.in[1]),
           elements<C>(y), n, in_packs(n, x, y));
  });
}

void update_loss_scale_cuda(const Call& call) {
  launch(update_kernel, 1, 1, call.in[0].as<float>(), call.in[1].as<int64_t>(),
         call.in[2].as<bool>(), call.attrs.as<LossScaleUpdate>());
}

}  // namespace plimsoll
