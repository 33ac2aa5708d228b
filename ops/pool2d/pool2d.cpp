// Average pooling, and what all pooling ops share.
#include "ops/pool2d/pool2d.h"

#include "core/apply.h"
#include "ops/copy/copy.h"
#include "ops/expect.h"
#include "ops/pool2d/windows.h"
#include "ops/sum/sum.h"

namespace plimsoll {

Meta pooled(const char* name, const Meta& x, const Pool2dAttrs& a) {
  check<DTypeError>(is_floating(x.dtype), name, ": a floating type is needed: got ", x,
                    ". Cast it first.");
  check<ShapeError>(x.shape.rank() == 4, name, ": the input is not [N, H, W, C]: got ", x.shape,
                    ". Reshape it to four axes.");
  check<ValueError>(at_least(a.window, 1) && at_least(a.stride, 1) && at_least(a.padding, 0) &&
                        a.padding.h <= a.window.h / 2 && a.padding.w <= a.window.w / 2,
                    name, ": the attributes do not fit: window ", a.window, ", stride ", a.stride,
                    ", padding ", a.padding,
                    ". Use sizes of at least 1 and a padding of at most half the window.");
  check<ValueError>(checked_mul(a.window.h, a.window.w, name) <= kLargestWindow, name,
                    ": the window is too large: ", a.window, ". Use less than 2^31 places.");
  const bool empty = x.shape[0] == 0 || x.shape[3] == 0;
  check<ShapeError>(empty || (x.shape[1] >= 1 && x.shape[2] >= 1), name,
                    ": the images have no pixels: ", x.shape,
                    ". Use a height and a width of at least 1.");
  const int64_t rows = checked_add(x.shape[1], 2 * a.padding.h, name) - a.window.h;
  const int64_t columns = checked_add(x.shape[2], 2 * a.padding.w, name) - a.window.w;
  check<ShapeError>(rows >= 0 && columns >= 0, name,
                    ": the window is larger than the image: ", a.window, " for ", x.shape,
                    " padded by ", a.padding, ". Use a smaller window or more padding.");
  return {
      {x.shape[0], rows / a.stride.h + 1, columns / a.stride.w + 1, x.shape[3]}, x.dtype, x.device};
}

namespace {

Metas avg_infer(std::span<const Meta> in, const Attrs& attrs) {
  return {pooled("avg_pool2d", in[0], attrs.as<Pool2dAttrs>())};
}

// Sums rows of channels that `visit` names, and divides by the area of a window.
template <class T, class Visit>
void mean_of(const PoolWindows& windows, const T* from, T* to, int64_t pixels, Visit&& visit) {
  const int64_t area = windows.attrs.window.h * windows.attrs.window.w;
  for_each_block(pixels, windows.c, area, [&](int64_t pixel, int64_t first, int64_t n) {
    std::array<Compute<T>, kPoolBlock> sum{};
    visit(pixel, [&](int64_t, int64_t offset) {
#pragma omp simd
      for (int64_t c = 0; c < n; ++c) sum[c] += static_cast<Compute<T>>(from[offset + first + c]);
    });
    for (int64_t c = 0; c < n; ++c)
      to[pixel * windows.c + first + c] = static_cast<T>(sum[c] / static_cast<Compute<T>>(area));
  });
}

void avg_cpu(const Call& call) {
  const PoolWindows w(call.in[0].shape(), call.out[0].shape(), call.attrs.as<Pool2dAttrs>());
  visit_floating("avg_pool2d", call.out[0].dtype(), [&]<class T>() {
    mean_of(w, call.in[0].as<T>(), call.out[0].as<T>(), w.n * w.p * w.q,
            [&](int64_t pixel, auto&& f) {
              w.pixels(pixel / w.q / w.p, pixel / w.q % w.p, pixel % w.q, f);
            });
  });
}

Metas avg_grad_infer(std::span<const Meta> in, const Attrs& attrs) {
  return {{attrs.as<PoolGradAttrs>().image, in[0].dtype, in[0].device}};
}

void avg_grad_cpu(const Call& call) {
  const PoolWindows w(call.out[0].shape(), call.in[0].shape(), call.attrs.as<PoolGradAttrs>().pool);
  visit_floating("avg_pool2d_grad", call.out[0].dtype(), [&]<class T>() {
    mean_of(w, call.in[0].as<T>(), call.out[0].as<T>(), w.n * w.h * w.w,
            [&](int64_t pixel, auto&& f) {
              w.windows(pixel / w.w / w.h, pixel / w.w % w.h, pixel % w.w, f);
            });
  });
}

// The op is linear: the gradient of its gradient is the op.
std::vector<Tensor> avg_grad_vjp(const Backward& b) {
  return {avg_pool2d(b.grad(), b.attrs<PoolGradAttrs>().pool)};
}

constexpr OpDef avg_grad_op{
    .name = "avg_pool2d_grad", .infer = avg_grad_infer, .cpu = avg_grad_cpu, .vjp = avg_grad_vjp};

std::vector<Tensor> avg_vjp(const Backward& b) {
  return {apply1(avg_grad_op, {contiguous(b.grad())},
                 PoolGradAttrs{b.attrs<Pool2dAttrs>(), b.input_meta(0).shape})};
}

constexpr OpDef avg_op{.name = "avg_pool2d", .infer = avg_infer, .cpu = avg_cpu, .vjp = avg_vjp};

}  // namespace

Tensor avg_pool2d(const Tensor& x, const Pool2dAttrs& attrs) {
  return apply1(avg_op, {contiguous(x)}, attrs);
}

Tensor global_avg_pool(const Tensor& x) {
  check_defined("global_avg_pool", x);
  check<ShapeError>(x.rank() == 4, "global_avg_pool: the input is not [N, H, W, C]: got ",
                    x.shape(), ". Reshape it to four axes.");
  return mean(x, {1, 2});
}

extern const OpDef max_pool2d_op, max_pool2d_grad_op;  // max_pool2d.cpp
extern const std::vector<const OpDef*> pool2d_ops;
const std::vector<const OpDef*> pool2d_ops{&max_pool2d_op, &max_pool2d_grad_op, &avg_op,
                                           &avg_grad_op};

}  // namespace plimsoll
