#include "core/cuda/elements.cuh"
#include "core/cuda/launch.cuh"
#include "core/engine/op.h"
#include "ops/pool/interpolate/mix.h"

namespace plimsoll {
namespace {

using namespace cuda;
using Mix = InterpolationMix;

__global__ void mixes_kernel(InterpolationAxis axis, Mix* mixes) {
  for (int64_t i = first_index(); i < axis.out; i += total_threads()) mixes[i] = axis[i];
}

// Image and result, with the mixes of all rows and columns of the result.
struct Images {
  int64_t number, rows, columns, channels;  // of the image
  int64_t tall, wide;                       // of the result
  const Mix *h, *w;
};

Images images_of(const Shape& image, const Shape& result, const InterpolateAttrs& attrs,
                 std::span<std::byte> workspace) {
  const auto [tall, wide] = axes_of(image, result, attrs);
  Mix* const mixes = reinterpret_cast<Mix*>(workspace.data());
  launch(mixes_kernel, blocks_for(tall.out), kThreads, tall, mixes);
  launch(mixes_kernel, blocks_for(wide.out), kThreads, wide, mixes + tall.out);
  return {image[0], image[1], image[2], image[3], result[1], result[2], mixes, mixes + tall.out};
}

// Pixels of weight 0 are not read: they may hold infinities.
template <class C>
__global__ void interpolate_kernel(Images s, Elements<C> x, Elements<C> y) {
  const int64_t all = s.number * s.tall * s.wide * s.channels;
  for (int64_t e = first_index(); e < all; e += total_threads()) {
    const int64_t channel = e % s.channels, place = e / s.channels;
    const Mix h = s.h[place / s.wide % s.tall], w = s.w[place % s.wide];
    const int64_t image = place / s.wide / s.tall * s.rows;
    C sum = 0;
    const auto add = [&](int64_t row, int64_t column, double weight) {
      if (weight == 0) return;
      const int64_t pixel = (image + row) * s.columns + column;
      sum += static_cast<C>(weight) * x.get(pixel * s.channels + channel);
    };
    add(h.low, w.low, h.low_weight * w.low_weight);
    add(h.low, w.high, h.low_weight * w.high_weight);
    add(h.high, w.low, h.high_weight * w.low_weight);
    add(h.high, w.high, h.high_weight * w.high_weight);
    y.set(e, sum);
  }
}

// The first of n mixes that starts at `low` or later: places grow with the number.
__device__ int64_t first_from(const Mix* mixes, int64_t n, int64_t low) {
  int64_t begin = 0;
  while (begin < n) {
    const int64_t middle = (begin + n) / 2;
    if (mixes[middle].low < low)
      begin = middle + 1;
    else
      n = middle;
  }
  return begin;
}

// Each pixel gathers from the results that read it.
template <class C>
__global__ void interpolate_grad_kernel(Images s, Elements<C> dy, Elements<C> dx) {
  const int64_t all = s.number * s.rows * s.columns * s.channels;
  for (int64_t e = first_index(); e < all; e += total_threads()) {
    const int64_t channel = e % s.channels, place = e / s.channels;
    const int64_t column = place % s.columns, row = place / s.columns % s.rows;
    const int64_t image = place / s.columns / s.rows * s.tall;
    const int64_t bottom = first_from(s.h, s.tall, row + 1);
    const int64_t left = first_from(s.w, s.wide, column - 1);
    const int64_t right = first_from(s.w, s.wide, column + 1);
    C sum = 0;
    for (int64_t i = first_from(s.h, s.tall, row - 1); i < bottom; ++i)
      for (int64_t j = left; j < right; ++j) {
        const double weight = s.h[i].of(row) * s.w[j].of(column);
        if (weight != 0)
          sum += static_cast<C>(weight) * dy.get(((image + i) * s.wide + j) * s.channels + channel);
      }
    dx.set(e, sum);
  }
}

}  // namespace

void interpolate_cuda(const Call& call) {
  const Shape &x = call.in[0].shape(), &y = call.out[0].shape();
  const Images s = images_of(x, y, call.attrs.as<InterpolateAttrs>(), call.workspace);
  visit_floating_elements(call.out[0].dtype(), [&]<class C>() {
    launch(interpolate_kernel<C>, blocks_for(count(y)), kThreads, s, elements<C>(call.in[0]),
           elements<C>(call.out[0]));
  });
}

void interpolate_grad_cuda(const Call& call) {
  const Shape &dy = call.in[0].shape(), &dx = call.out[0].shape();
  const auto& attrs = call.attrs.as<InterpolateGradAttrs>().interpolate;
  const Images s = images_of(dx, dy, attrs, call.workspace);
  visit_floating_elements(call.out[0].dtype(), [&]<class C>() {
    launch(interpolate_grad_kernel<C>, blocks_for(count(dx)), kThreads, s, elements<C>(call.in[0]),
           elements<C>(call.out[0]));
  });
}

}  // namespace plimsoll
