#include "ops/pool/interpolate/interpolate.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/cpu/parallel.h"
#include "core/cuda/seam/cuda_kernel.h"
#include "core/engine/apply.h"
#include "ops/common/expect.h"
#include "ops/pointwise/copy/copy.h"
#include "ops/pool/interpolate/mix.h"

namespace plimsoll {

PLIMSOLL_CUDA_KERNEL(interpolate_cuda);
PLIMSOLL_CUDA_KERNEL(interpolate_grad_cuda);

namespace {

using Mix = InterpolationMix;

int64_t scaled(const char* op, int64_t in, double scale) {
  const double size = std::floor(static_cast<double>(in) * scale);
  check<ValueError>(size < 9e15, op, ": a scale of ", scale, " makes an axis of ", in,
                    " too long. Use a smaller one.");
  return static_cast<int64_t>(size);
}

Pair result_size(const char* op, const Shape& x, const InterpolateAttrs& a) {
  const bool by_size = a.size != Pair(0), by_scale = a.scale != Scale(0);
  check<ValueError>(by_size != by_scale, op, ": either a size or a scale is needed: got size ",
                    a.size, " and scale ", a.scale.h, "x", a.scale.w, ". Give one of them.");
  check<ValueError>(by_size || (a.scale.h > 0 && a.scale.w > 0), op, ": the scale ", a.scale.h, "x",
                    a.scale.w, " is not positive. Use numbers above 0.");
  check<ValueError>(!a.align_corners || a.mode == Interpolation::bilinear, op,
                    ": nearest neighbours have no corners to align. Leave align_corners out.");
  const Pair size =
      by_size ? a.size : Pair(scaled(op, x[1], a.scale.h), scaled(op, x[2], a.scale.w));
  const bool empty = x[0] == 0 || x[3] == 0;
  check<ShapeError>(empty || (x[1] >= 1 && x[2] >= 1), op, ": the images have no pixels: ", x,
                    ". Use a height and a width of at least 1.");
  check<ValueError>(at_least(size, 0) && (empty || at_least(size, 1)), op, ": images ", x,
                    " would become ", size, ". Ask for at least 1x1.");
  checked_mul(x[1], size.h, op);  // no product of Axis is larger
  checked_mul(x[2], size.w, op);
  return size;
}

Metas infer(std::span<const Meta> in, const Attrs& attrs) {
  const char* op = "interpolate";
  const Meta& x = in[0];
  check_floating(op, x);
  check<ShapeError>(x.shape.rank() == 4, op, ": the input is not [N, H, W, C]: got ", x.shape,
                    ". Reshape it to four axes.");
  const Pair size = result_size(op, x.shape, attrs.as<InterpolateAttrs>());
  return {{{x.shape[0], size.h, size.w, x.shape[3]}, x.dtype, x.device}};
}

struct Table {
  int64_t images, channels, rows, columns;  // of the image
  std::span<const Mix> h, w;

  Table(const Shape& image, const Shape& result, const InterpolateAttrs& a,
        std::span<std::byte> workspace)
      : images(image[0]), channels(image[3]), rows(image[1]), columns(image[2]) {
    const auto [tall, wide] = axes_of(image, result, a);
    Mix* const first = reinterpret_cast<Mix*>(workspace.data());
    for (int64_t i = 0; i < tall.out; ++i) first[i] = tall[i];
    for (int64_t j = 0; j < wide.out; ++j) first[tall.out + j] = wide[j];
    h = {first, static_cast<size_t>(tall.out)};
    w = {first + tall.out, static_cast<size_t>(wide.out)};
  }
};

// Numbers [begin, end) of the mixes that may read row y: places grow with the number.
std::pair<int64_t, int64_t> readers(std::span<const Mix> mixes, int64_t y) {
  const auto from = [&](int64_t low) {
    return std::partition_point(mixes.begin(), mixes.end(),
                                [low](const Mix& mix) { return mix.low < low; }) -
           mixes.begin();
  };
  return {from(y - 1), from(y + 1)};
}

// to[0 .. n) += weight * from[0 .. n), summed in blocks of channels.
constexpr int64_t kBlock = 64;
template <class T>
using Sums = std::array<Compute<T>, kBlock>;

template <class T>
void add(Sums<T>& sums, const T* from, int64_t n, double weight) {
  const auto w = static_cast<Compute<T>>(weight);
#pragma omp simd
  for (int64_t c = 0; c < n; ++c) sums[c] += w * static_cast<Compute<T>>(from[c]);
}

// Pixels of weight 0 are not read: they may hold infinities.
template <class T>
void forward(const Table& table, const T* x, T* y) {
  const int64_t channels = table.channels, line = table.columns * channels;
  const int64_t rows = std::ssize(table.h), columns = std::ssize(table.w);
  parallel_for(table.images * rows, grain_for(columns * channels * 4),
               [&](int64_t begin, int64_t end) {
                 for (int64_t row = begin; row < end; ++row) {
                   const Mix m = table.h[row % rows];
                   const T* image = x + row / rows * table.rows * line;
                   const T *low = image + m.low * line, *high = image + m.high * line;
                   T* to = y + row * columns * channels;
                   for (const Mix& k : table.w) {
                     for (int64_t first = 0; first < channels; first += kBlock) {
                       const int64_t n = std::min(kBlock, channels - first);
                       Sums<T> sums{};
                       const auto part = [&](const T* from, int64_t column, double weight) {
                         if (weight != 0) add(sums, from + column * channels + first, n, weight);
                       };
                       part(low, k.low, m.low_weight * k.low_weight);
                       part(low, k.high, m.low_weight * k.high_weight);
                       part(high, k.low, m.high_weight * k.low_weight);
                       part(high, k.high, m.high_weight * k.high_weight);
                       for (int64_t c = 0; c < n; ++c) to[first + c] = static_cast<T>(sums[c]);
                     }
                     to += channels;
                   }
                 }
               });
}

// Each pixel gathers from the results that read it.
template <class T>
void backward(const Table& table, const T* dy, T* dx) {
  const int64_t channels = table.channels;
  const int64_t rows = std::ssize(table.h), columns = std::ssize(table.w);
  const int64_t shared = 4 * pieces(rows, table.rows) * pieces(columns, table.columns);
  parallel_for(table.images * table.rows, grain_for(table.columns * channels * shared),
               [&](int64_t begin, int64_t end) {
                 for (int64_t row = begin; row < end; ++row) {
                   const int64_t y = row % table.rows, image = row / table.rows;
                   const auto [top, bottom] = readers(table.h, y);
                   for (int64_t x = 0; x < table.columns; ++x) {
                     const auto [left, right] = readers(table.w, x);
                     T* to = dx + (row * table.columns + x) * channels;
                     for (int64_t first = 0; first < channels; first += kBlock) {
                       const int64_t n = std::min(kBlock, channels - first);
                       Sums<T> sums{};
                       for (int64_t i = top; i < bottom; ++i)
                         for (int64_t j = left; j < right; ++j) {
                           const double weight = table.h[i].of(y) * table.w[j].of(x);
                           const T* from =
                               dy + ((image * rows + i) * columns + j) * channels + first;
                           if (weight != 0) add(sums, from, n, weight);
                         }
                       for (int64_t c = 0; c < n; ++c) to[first + c] = static_cast<T>(sums[c]);
                     }
                   }
                 }
               });
}

// The mixes of all rows and columns of the result; a GPU makes each where it needs it.
int64_t table_bytes(const View& result) {
  if (result.device() == Device::cuda) return 0;
  return (result.shape()[1] + result.shape()[2]) * static_cast<int64_t>(sizeof(Mix));
}

int64_t workspace(const Call& call) { return table_bytes(call.out[0]); }

void cpu(const Call& call) {
  const Table table(call.in[0].shape(), call.out[0].shape(), call.attrs.as<InterpolateAttrs>(),
                    call.workspace);
  visit_floating("interpolate", call.out[0].dtype(),
                 [&]<class T>() { forward(table, call.in[0].as<T>(), call.out[0].as<T>()); });
}

Metas grad_infer(std::span<const Meta> in, const Attrs& attrs) {
  return {{attrs.as<InterpolateGradAttrs>().image, in[0].dtype, in[0].device}};
}

int64_t grad_workspace(const Call& call) { return table_bytes(call.in[0]); }

void grad_cpu(const Call& call) {
  const Table table(call.out[0].shape(), call.in[0].shape(),
                    call.attrs.as<InterpolateGradAttrs>().interpolate, call.workspace);
  visit_floating("interpolate_grad", call.out[0].dtype(),
                 [&]<class T>() { backward(table, call.in[0].as<T>(), call.out[0].as<T>()); });
}

// The op is linear: the gradient of its gradient is the op.
std::vector<Tensor> grad_vjp(const Backward& b) {
  return {interpolate(b.grad(), b.attrs<InterpolateGradAttrs>().interpolate)};
}

constexpr OpDef grad_op{.name = "interpolate_grad",
                        .infer = grad_infer,
                        .cpu = grad_cpu,
                        .cuda = interpolate_grad_cuda,
                        .vjp = {grad_vjp},
                        .workspace = grad_workspace};

std::vector<Tensor> vjp(const Backward& b) {
  return {apply1(grad_op, {contiguous(b.grad())},
                 InterpolateGradAttrs{b.attrs<InterpolateAttrs>(), b.input_meta(0).shape})};
}

constexpr OpDef op{.name = "interpolate",
                   .infer = infer,
                   .cpu = cpu,
                   .cuda = interpolate_cuda,
                   .vjp = {vjp},
                   .workspace = workspace};

}  // namespace

Tensor interpolate(const Tensor& x, const InterpolateAttrs& attrs) {
  return apply1(op, {contiguous(x)}, attrs);
}

extern const std::vector<const OpDef*> interpolate_ops{&op, &grad_op};

}  // namespace plimsoll
