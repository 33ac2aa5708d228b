#include "core/cuda/elements.cuh"
#include "ops/norm/common/parameter_grad.cuh"
#include "ops/norm/group_norm/attrs.h"
#include "ops/norm/layer_norm/attrs.h"

namespace plimsoll {
namespace {

using namespace cuda;
using namespace group_norm_detail;
using layer_norm_detail::Split;

// The elements of group `number` of all images, of which a block takes one.
struct Group {
  int64_t channels, width, n, start, first_channel;
  __device__ Group(const Sizes& s, int64_t number)
      : channels(s.channels),
        width(s.channels / s.groups),
        n(s.positions * width),
        start(number / s.groups * s.positions * s.channels),
        first_channel(number % s.groups * width) {}
  __device__ int64_t channel(int64_t e) const { return first_channel + e % width; }
  __device__ int64_t at(int64_t e) const { return start + e / width * channels + channel(e); }
};

// (x - mean) inverse of elements.
template <class C>
struct GroupNormal {
  Elements<C> x;
  const double* means;
  const C* inverses;
  Sizes s;
  __device__ C of(C value, int64_t channel, int64_t row) const {
    const int64_t image = row / s.positions;
    const int64_t group = image * s.groups + channel / (s.channels / s.groups);
    const Split<C> mean(means[group]);
    return (value - mean.high - mean.rest) * inverses[group];
  }
  __device__ C operator()(int64_t at) const {
    return of(x.get(at), at % s.channels, at / s.channels);
  }
  __device__ static C gradient(C dy, C, int64_t) { return dy; }
};

// Sums of d and d^2 in double, d being the deviation from the group's first element: a mean far
// from 0 costs no digits of the variance.
template <class C>
__global__ void group_norm_kernel(Elements<C> x, const C* gamma, const C* beta, Elements<C> y,
                                  double* means, C* inverses, Sizes sizes, double eps) {
  const Group group(sizes, blockIdx.x);
  const double first = group.n > 0 ? static_cast<double>(x.get(group.at(0))) : 0;
  double sum = 0, squares = 0;
  for (int64_t e = threadIdx.x; e < group.n; e += blockDim.x) {
    const double d = static_cast<double>(x.get(group.at(e))) - first;
    sum += d;
    squares += d * d;
  }
  const double shift = over_block(sum, Plus()) / static_cast<double>(group.n);
  const double difference =
      over_block(squares, Plus()) / static_cast<double>(group.n) - shift * shift;
  const Split<C> mean(first + shift);
  const C inverse = static_cast<C>(1 / std::sqrt((difference < 0 ? 0 : difference) + eps));
  if (threadIdx.x == 0) {
    means[blockIdx.x] = group.n > 0 ? first + shift : 0;
    inverses[blockIdx.x] = group.n > 0 ? inverse : C(0);
  }
  for (int64_t e = threadIdx.x; e < group.n; e += blockDim.x) {
    const int64_t at = group.at(e), c = group.channel(e);
    y.set(at, (x.get(at) - mean.high - mean.rest) * inverse * gamma[c] + beta[c]);
  }
}

// dx = inverse (g - mean(g) - n mean(g n)) with g = gamma dy.
template <class C>
__global__ void group_norm_grad_kernel(Elements<C> dy, GroupNormal<C> normal, const C* gamma,
                                       Elements<C> dx) {
  const Group group(normal.s, blockIdx.x);
  double sum_g = 0, sum_gn = 0;
  for (int64_t e = threadIdx.x; e < group.n; e += blockDim.x) {
    const int64_t at = group.at(e);
    const C g = gamma[group.channel(e)] * dy.get(at);
    sum_g += static_cast<double>(g);
    sum_gn += static_cast<double>(g * normal(at));
  }
  const auto n = static_cast<double>(group.n);
  const C mean_g = static_cast<C>(over_block(sum_g, Plus()) / n);
  const C mean_gn = static_cast<C>(over_block(sum_gn, Plus()) / n);
  for (int64_t e = threadIdx.x; e < group.n; e += blockDim.x) {
    const int64_t at = group.at(e);
    const C g = gamma[group.channel(e)] * dy.get(at);
    dx.set(at, normal.inverses[blockIdx.x] * (g - mean_g - normal(at) * mean_gn));
  }
}

}  // namespace

void group_norm_cuda(const Call& call) {
  const View& x = call.in[0];
  const Sizes s = sizes_of(x.shape(), call.attrs);
  if (s.images == 0) return;
  visit_floating_elements(x.dtype(), [&]<class C>() {
    launch(group_norm_kernel<C>, s.images * s.groups,
           row_threads(s.positions * s.channels / s.groups), elements<C>(x), call.in[1].as<C>(),
           call.in[2].as<C>(), elements<C>(call.out[0]), call.out[1].as<double>(),
           call.out[2].as<C>(), s, call.attrs.as<GroupNormAttrs>().eps);
  });
}

void group_norm_grad_cuda(const Call& call) {
  const View &dy = call.in[0], &x = call.in[1], &dx = call.out[0];
  const Sizes s = sizes_of(x.shape(), call.attrs);
  visit_floating_elements(x.dtype(), [&]<class C>() {
    const GroupNormal<C> normal{elements<C>(x), call.in[3].as<double>(), call.in[4].as<C>(), s};
    // First, because dx may take the memory of dy.
    parameter_gradients(s.images * s.positions, s.channels, dy, normal, call.out[1].as<C>(),
                        call.out[2].as<C>(), call.workspace);
    if (count(dx.shape()) > 0)
      launch(group_norm_grad_kernel<C>, s.images * s.groups,
             row_threads(s.positions * s.channels / s.groups), elements<C>(dy), normal,
             call.in[2].as<C>(), elements<C>(dx));
  });
}

}  // namespace plimsoll
