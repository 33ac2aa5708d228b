#include "core/cuda/elements.cuh"
#include "ops/norm/common/columns.cuh"
#include "ops/norm/group_norm/attrs.h"

namespace plimsoll {
namespace {

using namespace cuda;
using namespace group_norm_detail;

// A number in double as the sum of two in C.
template <class C>
struct Split {
  C high, rest;
  __device__ explicit Split(double value)
      : high(static_cast<C>(value)), rest(static_cast<C>(value - static_cast<double>(high))) {}
};

// Sums of d and d^2 for each channel of an image, d being the deviation from its first element.
template <class C>
struct AddDeviations {
  Elements<C> x;
  Sizes sizes;
  __device__ void operator()(int64_t row, int64_t c, double (&total)[2]) const {
    const int64_t first = row / sizes.positions * sizes.positions;
    const double d = static_cast<double>(x.get(row * sizes.channels + c)) -
                     static_cast<double>(x.get(first * sizes.channels + c));
    total[0] += d;
    total[1] += d * d;
  }
};

// They become the channel's mean and the sum of squared deviations from it: [N, 2, C].
template <class C>
struct StoreStatistics {
  Elements<C> x;
  Sizes sizes;
  double* statistics;
  __device__ void operator()(int64_t image, int64_t c, const double (&total)[2]) const {
    const double shift = total[0] / static_cast<double>(sizes.positions);
    const double first = static_cast<double>(x.get(image * sizes.positions * sizes.channels + c));
    double* own = statistics + image * 2 * sizes.channels + c;
    own[0] = first + shift;
    own[sizes.channels] = total[1] - shift * total[0];
  }
};

// A group's statistics from those of its channels, which have equally many elements each.
template <class C>
__global__ void group_statistics_kernel(const double* statistics, Sizes sizes, double eps,
                                        double* means, C* inverses) {
  const int64_t width = sizes.channels / sizes.groups;
  for (int64_t i = first_index(); i < sizes.images * sizes.groups; i += total_threads()) {
    const double* mean =
        statistics + i / sizes.groups * 2 * sizes.channels + i % sizes.groups * width;
    const double *m2 = mean + sizes.channels, members = static_cast<double>(sizes.positions);
    double sum = 0, squares = 0;
    for (int64_t c = 0; c < width; ++c) sum += mean[c];
    const double m = sum / static_cast<double>(width);
    for (int64_t c = 0; c < width; ++c) squares += m2[c] + members * (mean[c] - m) * (mean[c] - m);
    const double count = members * static_cast<double>(width);
    const double variance = squares / count;
    means[i] = count > 0 ? m : 0;
    inverses[i] =
        count > 0 ? static_cast<C>(1 / std::sqrt((variance < 0 ? 0 : variance) + eps)) : C(0);
  }
}

template <class C>
struct Normalise {
  Elements<C> x, y;
  const C *gamma, *beta;
  const double* means;
  const C* inverses;
  Sizes sizes;
  __device__ void operator()(int64_t image, int64_t c, const Rows& rows) const {
    const int64_t group = image * sizes.groups + c / (sizes.channels / sizes.groups);
    const Split<C> mean(means[group]);
    const C inverse = inverses[group], scale = gamma[c], shift = beta[c];
    for (int64_t row = rows.begin; row < rows.end; row += kRowLanes) {
      const int64_t i = row * sizes.channels + c;
      y.set(i, (x.get(i) - mean.high - mean.rest) * inverse * scale + shift);
    }
  }
};

// The sums of dy and dy n for each channel of an image: [N, 2, C].
template <class C>
struct AddGradients {
  Elements<C> dy, x;
  const double* means;
  const C* inverses;
  Sizes sizes;
  __device__ void operator()(int64_t row, int64_t c, double (&total)[2]) const {
    const int64_t group =
        row / sizes.positions * sizes.groups + c / (sizes.channels / sizes.groups);
    const Split<C> mean(means[group]);
    const int64_t i = row * sizes.channels + c;
    const C d = dy.get(i), normal = (x.get(i) - mean.high - mean.rest) * inverses[group];
    total[0] += static_cast<double>(d);
    total[1] += static_cast<double>(d * normal);
  }
};
struct StoreSums {
  double* sums;
  int64_t channels;
  __device__ void operator()(int64_t image, int64_t c, const double (&total)[2]) const {
    double* own = sums + image * 2 * channels + c;
    own[0] = total[0];
    own[channels] = total[1];
  }
};

// For each group of an image the means of g and g n, with g = gamma dy: [N, G, 2].
template <class C>
__global__ void group_means_kernel(const double* sums, const C* gamma, Sizes sizes, double* means) {
  const int64_t width = sizes.channels / sizes.groups;
  for (int64_t i = first_index(); i < sizes.images * sizes.groups; i += total_threads()) {
    const int64_t first = i % sizes.groups * width;
    const double* sum = sums + i / sizes.groups * 2 * sizes.channels;
    double g = 0, gn = 0;
    for (int64_t c = first; c < first + width; ++c) {
      g += static_cast<double>(gamma[c]) * sum[c];
      gn += static_cast<double>(gamma[c]) * sum[sizes.channels + c];
    }
    const double members = static_cast<double>(sizes.positions * width);
    means[2 * i] = g / members;
    means[2 * i + 1] = gn / members;
  }
}

template <class C>
__global__ void parameters_kernel(const double* sums, Sizes sizes, C* dgamma, C* dbeta) {
  for (int64_t c = first_index(); c < sizes.channels; c += total_threads()) {
    double sum = 0, weighted = 0;
    for (int64_t image = 0; image < sizes.images; ++image) {
      sum += sums[image * 2 * sizes.channels + c];
      weighted += sums[(image * 2 + 1) * sizes.channels + c];
    }
    dgamma[c] = static_cast<C>(weighted);
    dbeta[c] = static_cast<C>(sum);
  }
}

template <class C>
struct Gradient {
  Elements<C> dy, x, dx;
  const C* gamma;
  const double* means;
  const C* inverses;
  const double* means_g;
  Sizes sizes;
  __device__ void operator()(int64_t image, int64_t c, const Rows& rows) const {
    const int64_t group = image * sizes.groups + c / (sizes.channels / sizes.groups);
    const Split<C> mean(means[group]);
    const C inverse = inverses[group], scale = gamma[c];
    const C mean_g = static_cast<C>(means_g[2 * group]);
    const C mean_gn = static_cast<C>(means_g[2 * group + 1]);
    for (int64_t row = rows.begin; row < rows.end; row += kRowLanes) {
      const int64_t i = row * sizes.channels + c;
      const C normal = (x.get(i) - mean.high - mean.rest) * inverse;
      dx.set(i, inverse * (dy.get(i) * scale - mean_g - normal * mean_gn));
    }
  }
};

// What lies in the workspace.
struct Scratch {
  ColumnCut cut;
  std::byte* chunks;
  double *channels, *groups;  // [N, 2, C], [N, G, 2]
  Scratch(const Call& call, const Sizes& sizes)
      : cut(column_cut(sizes)),
        chunks(call.workspace.data()),
        channels(reinterpret_cast<double*>(chunks + cut.sums_bytes(2))),
        groups(channels + 2 * sizes.images * sizes.channels) {}
};

}  // namespace

void group_norm_cuda(const Call& call) {
  const Sizes sizes = sizes_of(call.in[0].shape(), call.attrs);
  const Scratch scratch(call, sizes);
  const int64_t statistics = sizes.images * sizes.groups;
  double* means = call.out[1].as<double>();
  visit_floating_elements(call.in[0].dtype(), [&]<class C>() {
    const Elements<C> x = elements<C>(call.in[0]);
    C* inverses = call.out[2].as<C>();
    if (sizes.positions > 0)
      sum_columns<2>(scratch.cut, scratch.chunks, AddDeviations<C>{x, sizes},
                     StoreStatistics<C>{x, sizes, scratch.channels});
    launch(group_statistics_kernel<C>, blocks_for(statistics), kThreads, scratch.channels, sizes,
           call.attrs.as<GroupNormAttrs>().eps, means, inverses);
    for_columns(scratch.cut, Normalise<C>{x, elements<C>(call.out[0]), call.in[1].as<C>(),
                                          call.in[2].as<C>(), means, inverses, sizes});
  });
}

void group_norm_grad_cuda(const Call& call) {
  const Sizes sizes = sizes_of(call.in[1].shape(), call.attrs);
  const Scratch scratch(call, sizes);
  const double* means = call.in[3].as<double>();
  visit_floating_elements(call.in[0].dtype(), [&]<class C>() {
    const Elements<C> dy = elements<C>(call.in[0]), x = elements<C>(call.in[1]);
    const C *gamma = call.in[2].as<C>(), *inverses = call.in[4].as<C>();
    sum_columns<2>(scratch.cut, scratch.chunks, AddGradients<C>{dy, x, means, inverses, sizes},
                   StoreSums{scratch.channels, sizes.channels});
    launch(parameters_kernel<C>, blocks_for(sizes.channels), kThreads, scratch.channels, sizes,
           call.out[1].as<C>(), call.out[2].as<C>());
    launch(group_means_kernel<C>, blocks_for(sizes.images * sizes.groups), kThreads,
           scratch.channels, gamma, sizes, scratch.groups);
    for_columns(scratch.cut, Gradient<C>{dy, x, elements<C>(call.out[0]), gamma, means, inverses,
                                         scratch.groups, sizes});
  });
}

}  // namespace plimsoll
