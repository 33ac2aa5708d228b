#include "ops/norm/group_norm/group_norm.h"

#include "core/cpu/slots.h"
#include "core/cuda/seam/cuda_kernel.h"
#include "core/engine/apply.h"
#include "ops/common/broadcast.h"
#include "ops/common/reduce_axes.h"
#include "ops/norm/common/rows.h"
#include "ops/norm/group_norm/attrs.h"
#include "ops/pointwise/copy/copy.h"

namespace plimsoll {

PLIMSOLL_CUDA_KERNEL(group_norm_cuda);
PLIMSOLL_CUDA_KERNEL(group_norm_grad_cuda);

group_norm_detail::Sizes group_norm_detail::sizes_of(const Shape& x, const Attrs& attrs) {
  Sizes sizes{x[0], 1, x.back(), attrs.as<GroupNormAttrs>().groups};
  for (int axis = 1; axis < x.rank() - 1; ++axis) sizes.positions *= x[axis];
  return sizes;
}

namespace {

using namespace group_norm_detail;
using namespace norm_detail;

// Inputs: x [N, ..., C], gamma [C], beta [C]. Outputs: y, and one mean and one inverse deviation
// for each group of each image.
Metas group_norm_infer(std::span<const Meta> in, const Attrs& attrs) {
  const Shape& x = in[0].shape;
  const auto& [groups, eps] = attrs.as<GroupNormAttrs>();
  check_floating("group_norm", in[0]);
  const DType wide = compute_dtype(in[0].dtype);
  check_gain_types("group_norm", in);
  check<ShapeError>(x.rank() >= 2 && in[1].shape == Shape{x.back()} && in[2].shape == in[1].shape,
                    "group_norm: gamma and beta do not fit: ", in[1].shape, " and ", in[2].shape,
                    " for x ", x, ". Give x as [N, ..., C] and both as [C].");
  check<ValueError>(groups >= 1 && x.back() % groups == 0, "group_norm: ", groups,
                    " groups do not divide the channels: ", x, ". Choose a number that does.");
  check_eps("group_norm", eps);
  const Shape statistics{x[0], groups};
  return {in[0], {statistics, DType::f64, in[0].device}, {statistics, wide, in[0].device}};
}

// Images are cut into at most 64 chunks of positions; each leaves two partial results [C] in f64.
// What a group has in common is then spread over its channels, so that all loops over elements are
// the same for any number of groups: kSpread rows [C] of coefficients. Partial results and
// coefficients are those of the image that a thread is at. Images, too, are cut into at most 64
// pieces, each with its own sums of the gradients of gamma and beta.
constexpr int64_t kSpread = 5;

struct Cut {
  Sizes sizes;
  int64_t chunk, chunks;  // positions of a chunk; chunks of an image
  int64_t images;         // of a piece
  explicit Cut(const Sizes& s)
      : sizes(s),
        chunk(std::max(grain_for(s.channels), pieces(s.positions, 64))),
        chunks(pieces(s.positions, chunk)),
        images(std::max(grain_for(s.positions * s.channels), pieces(s.images, 64))) {}

  int64_t image_pieces() const { return pieces(sizes.images, images); }
  // Elements that one mean is taken over.
  double members() const {
    return static_cast<double>(sizes.positions * (sizes.channels / sizes.groups));
  }
  int64_t totals_bytes() const { return block_bytes(image_pieces() * 2 * sizes.channels * 8); }
  int64_t slot_bytes(int64_t size_of_coefficient) const {
    return sizes.channels * (chunks * 2 * 8 + kSpread * size_of_coefficient);
  }
  // A slot for each thread, which works on images by itself; or, where images are few and large,
  // one, and all threads work on one image after another.
  int64_t slots_bytes(int64_t size_of_coefficient) const {
    const bool alone = chunks < num_threads() || image_pieces() >= 4 * num_threads();
    return plimsoll::slots_bytes(alone ? image_pieces() : 1, slot_bytes(size_of_coefficient));
  }

  // Calls f(number of its piece, image, slot) for all images; those of a piece in order.
  template <class F>
  void for_each_image(std::span<std::byte> slots, int64_t size_of_coefficient, const F& f) const {
    for_each_with_slot(image_pieces(), slots, slot_bytes(size_of_coefficient),
                       [&](int64_t piece, std::byte* slot) {
                         const int64_t end = std::min(sizes.images, (piece + 1) * images);
                         for (int64_t image = piece * images; image < end; ++image)
                           f(piece, image, slot);
                       });
  }

  // Calls f(number of the chunk, first element, positions) for all chunks of an image.
  template <class F>
  void for_each_chunk(int64_t image, const F& f) const {
    parallel_for(sizes.positions, chunk, [&](int64_t begin, int64_t end) {
      f(begin / chunk, (image * sizes.positions + begin) * sizes.channels, end - begin);
    });
  }
};

// Of one image: partial results, and for each channel its group's mean, as a high part and the
// rest, its inverse deviation, and in the gradient the group's means of g and of g n.
template <class C>
struct Slot {
  double* partial;  // [chunks, 2, C]
  C *high, *rest, *inverse, *mean_g, *mean_gn;
  Slot(std::byte* bytes, const Cut& cut)
      : partial(reinterpret_cast<double*>(bytes)),
        high(reinterpret_cast<C*>(partial + cut.chunks * 2 * cut.sizes.channels)),
        rest(high + cut.sizes.channels),
        inverse(rest + cut.sizes.channels),
        mean_g(inverse + cut.sizes.channels),
        mean_gn(mean_g + cut.sizes.channels) {}
};

struct Statistics {
  double mean, inverse;
};

// Of one group: its channels' chunks put together.
Statistics combine(const Cut& cut, const double* partial, int64_t group, double eps) {
  const int64_t channels = cut.sizes.channels, width = channels / cut.sizes.groups;
  Moments all;
  for (int64_t chunk = 0; chunk < cut.chunks; ++chunk) {
    const double* means = partial + chunk * 2 * channels;
    const auto k =
        static_cast<double>(std::min(cut.chunk, cut.sizes.positions - chunk * cut.chunk));
    for (int64_t c = group * width; c < (group + 1) * width; ++c)
      all.add(k, means[c], means[channels + c]);
  }
  return {all.mean, all.n > 0 ? 1 / std::sqrt(all.m2 / all.n + eps) : 0};
}

template <class C>
void spread_statistics(const Slot<C>& to, const Sizes& sizes, int64_t group, double mean,
                       C inverse) {
  const int64_t width = sizes.channels / sizes.groups, first = group * width;
  const C high = static_cast<C>(mean);
  std::fill_n(to.high + first, width, high);
  std::fill_n(to.rest + first, width, static_cast<C>(mean - static_cast<double>(high)));
  std::fill_n(to.inverse + first, width, inverse);
}

template <class T>
void forward_typed(const Call& call, const Cut& cut, double eps) {
  using C = Compute<T>;
  const int64_t groups = cut.sizes.groups, channels = cut.sizes.channels;
  const T* x = call.in[0].as<T>();
  const C *gamma = call.in[1].as<C>(), *beta = call.in[2].as<C>();
  T* y = call.out[0].as<T>();
  double* means = call.out[1].as<double>();
  C* inverses = call.out[2].as<C>();
  cut.for_each_image(call.workspace, sizeof(C), [&](int64_t, int64_t image, std::byte* slot) {
    const Slot<C> s(slot, cut);
    cut.for_each_chunk(image, [&](int64_t number, int64_t first, int64_t n) {
      double* mean = s.partial + number * 2 * channels;
      column_statistics(x + first, n, channels, mean, mean + channels);
    });
    for (int64_t group = 0; group < groups; ++group) {
      const Statistics of = combine(cut, s.partial, group, eps);
      means[image * groups + group] = of.mean;
      inverses[image * groups + group] = static_cast<C>(of.inverse);
      spread_statistics(s, cut.sizes, group, of.mean, static_cast<C>(of.inverse));
    }
    cut.for_each_chunk(image, [&](int64_t, int64_t first, int64_t n) {
      for (int64_t i = 0; i < n; ++i) {
        const T* from = x + first + i * channels;
        T* to = y + first + i * channels;
#pragma omp simd
        for (int64_t c = 0; c < channels; ++c)
          to[c] = narrow<T>((static_cast<C>(from[c]) - s.high[c] - s.rest[c]) * s.inverse[c] *
                                gamma[c] +
                            beta[c]);
      }
    });
  });
}

// With n = (x - mean) inverse and g = gamma dy, M elements to a group:
//   dbeta = sum dy,  dgamma = sum dy n,  dx = inverse (g - sum(g) / M - n sum(g n) / M)
// Adds up what the chunks of an image left: sums of dy and dy n, and what follows for its groups.
template <class C>
void combine_gradients(const Cut& cut, const Slot<C>& to, const C* gamma, double* dgamma,
                       double* dbeta) {
  const int64_t channels = cut.sizes.channels, width = channels / cut.sizes.groups;
  for (int64_t first = 0; first < channels; first += width) {
    double g = 0, gn = 0;
    for (int64_t chunk = 0; chunk < cut.chunks; ++chunk) {
      const double* sum = to.partial + chunk * 2 * channels;
      const double* weighted = sum + channels;
      for (int64_t c = first; c < first + width; ++c) {
        g += static_cast<double>(gamma[c]) * sum[c];
        gn += static_cast<double>(gamma[c]) * weighted[c];
        dbeta[c] += sum[c];
        dgamma[c] += weighted[c];
      }
    }
    std::fill_n(to.mean_g + first, width, static_cast<C>(g / cut.members()));
    std::fill_n(to.mean_gn + first, width, static_cast<C>(gn / cut.members()));
  }
}

template <class T>
void backward_typed(const Call& call, const Cut& cut) {
  using C = Compute<T>;
  const int64_t groups = cut.sizes.groups, channels = cut.sizes.channels;
  const T *dy = call.in[0].as<T>(), *x = call.in[1].as<T>();
  const C *gamma = call.in[2].as<C>(), *inverses = call.in[4].as<C>();
  const double* means = call.in[3].as<double>();
  T* dx = call.out[0].as<T>();
  double* const totals = reinterpret_cast<double*>(call.workspace.data());  // [pieces, 2, C]
  const int64_t image_pieces = cut.image_pieces();
  std::fill_n(totals, image_pieces * 2 * channels, 0.0);
  const auto slots = call.workspace.subspan(static_cast<size_t>(cut.totals_bytes()));
  cut.for_each_image(slots, sizeof(C), [&](int64_t piece, int64_t image, std::byte* slot) {
    const Slot<C> s(slot, cut);
    for (int64_t group = 0; group < groups; ++group) {
      const int64_t i = image * groups + group;
      spread_statistics(s, cut.sizes, group, means[i], inverses[i]);
    }
    cut.for_each_chunk(image, [&](int64_t number, int64_t first, int64_t n) {
      double *sum = s.partial + number * 2 * channels, *weighted = sum + channels;
      std::fill_n(sum, 2 * channels, 0.0);
      for (int64_t i = 0; i < n; ++i) {
        const T *d = dy + first + i * channels, *from = x + first + i * channels;
#pragma omp simd
        for (int64_t c = 0; c < channels; ++c) {
          const C normal = (static_cast<C>(from[c]) - s.high[c] - s.rest[c]) * s.inverse[c];
          sum[c] += static_cast<double>(static_cast<C>(d[c]));
          weighted[c] += static_cast<double>(static_cast<C>(d[c]) * normal);
        }
      }
    });
    double* const dbeta = totals + piece * 2 * channels;
    combine_gradients(cut, s, gamma, dbeta + channels, dbeta);
    cut.for_each_chunk(image, [&](int64_t, int64_t first, int64_t n) {
      for (int64_t i = 0; i < n; ++i) {
        const T *d = dy + first + i * channels, *from = x + first + i * channels;
        T* to = dx + first + i * channels;
#pragma omp simd
        for (int64_t c = 0; c < channels; ++c) {
          const C normal = (static_cast<C>(from[c]) - s.high[c] - s.rest[c]) * s.inverse[c];
          to[c] = narrow<T>(s.inverse[c] * (static_cast<C>(d[c]) * gamma[c] - s.mean_g[c] -
                                            normal * s.mean_gn[c]));
        }
      }
    });
  });
  add_pieces(totals, image_pieces, 2 * channels, channels, call.out[2].as<C>());
  add_pieces(totals + channels, image_pieces, 2 * channels, channels, call.out[1].as<C>());
}

void group_norm_cpu(const Call& call) {
  const Cut cut(sizes_of(call.in[0].shape(), call.attrs));
  visit_floating("group_norm", call.in[0].dtype(), [&]<class T>() {
    forward_typed<T>(call, cut, call.attrs.as<GroupNormAttrs>().eps);
  });
}

int64_t group_norm_workspace(const Call& call) {
  if (call.in[0].device() == Device::cuda) return 0;
  const Cut cut(sizes_of(call.in[0].shape(), call.attrs));
  return cut.slots_bytes(size_of(compute_dtype(call.in[0].dtype())));
}

// Inputs: dy, x, gamma, mean, inverse deviation. Outputs: dx, dgamma, dbeta.
Metas grad_infer(std::span<const Meta> in, const Attrs&) { return {in[1], in[2], in[2]}; }

void grad_cpu(const Call& call) {
  const Cut cut(sizes_of(call.in[1].shape(), call.attrs));
  visit_floating("group_norm_grad", call.in[0].dtype(),
                 [&]<class T>() { backward_typed<T>(call, cut); });
}

int64_t grad_workspace(const Call& call) {
  const Sizes sizes = sizes_of(call.in[0].shape(), call.attrs);
  if (call.in[0].device() == Device::cuda)
    return cuda_reduce_bytes({1, sizes.images * sizes.positions, sizes.channels});
  return Cut(sizes).totals_bytes() + group_norm_workspace(call);
}

constexpr OpDef grad_op{.name = "group_norm_grad",
                        .infer = grad_infer,
                        .cpu = grad_cpu,
                        .cuda = group_norm_grad_cuda,
                        .inplace = 0,
                        .workspace = grad_workspace};

std::vector<Tensor> group_norm_vjp(const Backward& b) {
  return apply(grad_op, {contiguous(b.grad()), b.input(0), b.input(1), b.output(1), b.output(2)},
               b.attrs<GroupNormAttrs>());
}

constexpr OpDef group_norm_op{
    .name = "group_norm",
    .infer = group_norm_infer,
    .cpu = group_norm_cpu,
    .cuda = group_norm_cuda,
    .vjp = {.rule = group_norm_vjp, .inputs = bits(0, 1), .outputs = bits(1, 2)},
    .inplace = 0,
    .workspace = group_norm_workspace};

}  // namespace

Tensor group_norm(const Tensor& x, int64_t groups, const Tensor& gamma, const Tensor& beta,
                  double eps) {
  return apply(group_norm_op, {contiguous(x), contiguous(gamma), contiguous(beta)},
               GroupNormAttrs{groups, eps})[0];
}

Tensor instance_norm(const Tensor& x, const Tensor& gamma, const Tensor& beta, double eps) {
  check_defined("instance_norm", gamma);
  return group_norm(x, std::max<int64_t>(1, gamma.count()), gamma, beta, eps);
}

extern const std::vector<const OpDef*> group_norm_ops{&group_norm_op, &grad_op};

}  // namespace plimsoll
