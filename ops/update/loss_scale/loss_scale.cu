#include <limits>

#include "core/cuda/elements.cuh"
#include "core/cuda/launch.cuh"
#include "core/engine/op.h"
#include "ops/common/scalar.cuh"
#include "ops/update/loss_scale/loss_scale.h"

namespace plimsoll {
namespace {

using namespace cuda;

// x - x is 0 for finite numbers only.
template <class C>
__global__ void nonfinite_kernel(Elements<C> x, int64_t n, bool* found) {
  for (int64_t i = first_index(); i < n; i += total_threads()) {
    const C v = x.get(i);
    if (!(v - v == 0)) *found = true;  // whoever writes, it is the same
  }
}

template <class C>
__global__ void unscale_kernel(Elements<C> x, Elements<C> y, int64_t n, Scalar scale) {
  const C divisor = static_cast<C>(scale.get());
  for (int64_t i = first_index(); i < n; i += total_threads()) y.set(i, x.get(i) / divisor);
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
  for (const View& x : call.in) {
    const int64_t n = count(x.shape());
    visit_floating_elements(x.dtype(), [&]<class C>() {
      launch(nonfinite_kernel<C>, blocks_for(n), kThreads, elements<C>(x), n, found);
    });
  }
}

void unscale_cuda(const Call& call) {
  const View &x = call.in[0], &y = call.out[0];
  const int64_t n = count(y.shape());
  visit_floating_elements(y.dtype(), [&]<class C>() {
    launch(unscale_kernel<C>, blocks_for(n), kThreads, elements<C>(x), elements<C>(y), n,
           scalar(call.in[1]));
  });
}

void update_loss_scale_cuda(const Call& call) {
  launch(update_scale_kernel, 1, 1, call.in[0].as<float>(), call.in[1].as<int64_t>(),
         call.in[2].as<bool>(), call.attrs.as<LossScaleUpdate>());
}

}  // namespace plimsoll
