#include "core/cuda/elements.cuh"
#include "core/cuda/launch.cuh"
#include "core/engine/op.h"
#include "ops/pool/interpolate/mix.h"

namespace plimsoll {
namespace {

using namespace cuda;
using Mix = InterpolationMix;

// Image and result.
struct Images {
  int64_t number, channels;
  InterpolationAxis h, w;
};

Images images_of(const Shape& image, const Shape& result, const InterpolateAttrs& attrs) {
  const auto [tall, wide] = axes_of(image, result, attrs);
  return {image[0], image[3], tall, wide};
}

// Pixels of weight 0 are not read: they may hold infinities.
template <class C>
__global__ void interpolate_kernel(Images s, Elements<C> x, Elements<C> y) {
  const int64_t all = s.number * s.h.out * s.w.out * s.channels;
  for (int64_t e = first_index(); e < all; e += total_threads()) {
    const int64_t channel = e % s.channels, place = e / s.channels;
    const Mix h = s.h[place / s.w.out % s.h.out], w = s.w[place % s.w.out];
    const int64_t image = place / s.w.out / s.h.out * s.h.in;
    C sum = 0;
    const auto add = [&](int64_t row, int64_t column, double weight) {
      if (weight == 0) return;
      const int64_t pixel = (image + row) * s.w.in + column;
      sum += static_cast<C>(weight) * x.get(pixel * s.channels + channel);
    };
    add(h.low, w.low, h.low_weight * w.low_weight);
    add(h.low, w.high, h.low_weight * w.high_weight);
    add(h.high, w.low, h.high_weight * w.low_weight);
    add(h.high, w.high, h.high_weight * w.high_weight);
    y.set(e, sum);
  }
}

// The first mix of an axis that starts at `low` or later: places grow with the number.
__device__ int64_t first_from(const InterpolationAxis& axis, int64_t low) {
  int64_t begin = 0, end = axis.out;
  while (begin < end) {
    const int64_t middle = (begin + end) / 2;
    if (axis[middle].low < low)
      begin = middle + 1;
    else
      end = middle;
  }
  return begin;
}

// Each pixel gathers from the results that read it.
template <class C>
__global__ void interpolate_grad_kernel(Images s, Elements<C> dy, Elements<C> dx) {
  const int64_t all = s.number * s.h.in * s.w.in * s.channels;
  for (int64_t e = first_index(); e < all; e += total_threads()) {
    const int64_t channel = e % s.channels, place = e / s.channels;
    const int64_t column = place % s.w.in, row = place / s.w.in % s.h.in;
    const int64_t image = place / s.w.in / s.h.in * s.h.out;
    const int64_t bottom = first_from(s.h, row + 1);
    const int64_t left = first_from(s.w, column - 1), right = first_from(s.w, column + 1);
    C sum = 0;
    for (int64_t i = first_from(s.h, row - 1); i < bottom; ++i)
      for (int64_t j = left; j < right; ++j) {
        const double weight = s.h[i].of(row) * s.w[j].of(column);
        if (weight != 0)
          sum +=
              static_cast<C>(weight) * dy.get(((image + i) * s.w.out + j) * s.channels + channel);
      }
    dx.set(e, sum);
  }
}

}  // namespace

void interpolate_cuda(const Call& call) {
  const Shape &x = call.in[0].shape(), &y = call.out[0].shape();
  const Images s = images_of(x, y, call.attrs.as<InterpolateAttrs>());
  visit_floating_elements(call.out[0].dtype(), [&]<class C>() {
    launch(interpolate_kernel<C>, blocks_for(count(y)), kThreads, s, elements<C>(call.in[0]),
           elements<C>(call.out[0]));
  });
}

void interpolate_grad_cuda(const Call& call) {
  const Shape &dy = call.in[0].shape(), &dx = call.out[0].shape();
  const auto& attrs = call.attrs.as<InterpolateGradAttrs>().interpolate;
  const Images s = images_of(dx, dy, attrs);
  visit_floating_elements(call.out[0].dtype(), [&]<class C>() {
    launch(interpolate_grad_kernel<C>, blocks_for(count(dx)), kThreads, s, elements<C>(call.in[0]),
           elements<C>(call.out[0]));
  });
}

}  // namespace plimsoll
