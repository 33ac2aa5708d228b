// What all pooling ops share: the shape rule, where windows lie, and the public functions.
#include "ops/pool/pool2d/pool2d.h"

#include "core/engine/apply.h"
#include "ops/common/expect.h"
#include "ops/pointwise/copy/copy.h"
#include "ops/pool/pool2d/windows.h"
#include "ops/reduction/sum/sum.h"
#include "ops/shape/view/view.h"

namespace plimsoll {
namespace {

void check_images(const char* name, const Meta& x) {
  check_floating(name, x);
  check<ShapeError>(x.shape.rank() == 4, name, ": the input is not [N, H, W, C]: got ", x.shape,
                    ". Reshape it to four axes.");
  const bool empty = x.shape[0] == 0 || x.shape[3] == 0;
  check<ShapeError>(empty || (x.shape[1] >= 1 && x.shape[2] >= 1), name,
                    ": the images have no pixels: ", x.shape,
                    ". Use a height and a width of at least 1.");
}

// Pixels from the first tap of a window to its last.
int64_t reach(const char* name, int64_t window, int64_t dilation) {
  return checked_add(checked_mul(window - 1, dilation, name), 1, name);
}

// Windows along one axis; negative where not one fits.
int64_t windows(const char* name, int64_t in, int64_t before, int64_t after, int64_t span,
                int64_t stride, bool ceil_mode) {
  const int64_t free = checked_add(checked_add(in, before, name), after, name) - span;
  const int64_t up = ceil_mode ? stride - 1 : 0;
  if (free < -up) return -1;
  const int64_t out = checked_add(free, up, name) / stride + 1;
  const bool beyond = ceil_mode && (out - 1) * stride >= in + before;  // would read no pixel
  return beyond ? out - 1 : out;
}

Pair fixed_windows(const char* name, const Shape& x, const Pool2dAttrs& a) {
  check<ValueError>(at_least(a.window, 1) && at_least(a.stride, 1) && at_least(a.padding, 0) &&
                        at_least(a.dilation, 1),
                    name, ": the attributes do not fit: window ", a.window, ", stride ", a.stride,
                    ", padding ", a.padding, ", dilation ", a.dilation,
                    ". All start at 1, padding at 0.");
  check<ValueError>(checked_mul(a.window.h, a.window.w, name) <= kLargestWindow, name,
                    ": the window is too large: ", a.window, ". Use less than 2^31 places.");
  const Pair span(reach(name, a.window.h, a.dilation.h), reach(name, a.window.w, a.dilation.w));
  check<ValueError>(std::max(a.padding.top, a.padding.bottom) < span.h &&
                        std::max(a.padding.left, a.padding.right) < span.w,
                    name, ": padding ", a.padding, " is too large for windows over ", span,
                    " pixels. Pad less than a window reaches.");
  const Pair out(
      windows(name, x[1], a.padding.top, a.padding.bottom, span.h, a.stride.h, a.ceil_mode),
      windows(name, x[2], a.padding.left, a.padding.right, span.w, a.stride.w, a.ceil_mode));
  check<ShapeError>(at_least(out, 0), name, ": the window is larger than the image: ", span,
                    " for ", x, " padded by ", a.padding,
                    ". Use a smaller window or more padding.");
  return out;
}

Pair even_windows(const char* name, const Shape& x, Pair outputs) {
  check<ValueError>(at_least(outputs, 1), name, ": ", outputs,
                    " results cannot be had. Ask for at least 1x1.");
  checked_mul(x[1] + 1, outputs.h, name);  // no product in PoolAxis is larger
  checked_mul(x[2] + 1, outputs.w, name);
  check<ValueError>(
      checked_mul(pieces(x[1], outputs.h) + 1, pieces(x[2], outputs.w) + 1, name) <= kLargestWindow,
      name, ": the windows are too large: ", outputs, " of ", x, ". Use less than 2^31 places.");
  return outputs;
}

}  // namespace

Meta pooled(const PoolNames& names, const Meta& x, const PoolSpec& spec) {
  const char* name = spec.adaptive() ? names.adaptive : names.fixed;
  check_images(name, x);
  const Pair out = spec.adaptive() ? even_windows(name, x.shape, *spec.outputs)
                                   : fixed_windows(name, x.shape, spec.pool);
  return {{x.shape[0], out.h, out.w, x.shape[3]}, x.dtype, x.device};
}

PoolWindows::PoolWindows(const Shape& image, const Shape& result, const PoolSpec& spec)
    : n(image[0]),
      c(image[3]),
      include_padding(spec.pool.count_include_pad),
      whole(!spec.adaptive() && !spec.pool.ceil_mode &&
            (include_padding || spec.pool.padding == Padding(0))) {
  const Pool2dAttrs& a = spec.pool;
  if (spec.adaptive()) {
    const auto axis = [](int64_t in, int64_t out) {
      return PoolAxis{.in = in,
                      .out = out,
                      .window = pieces(in, out) + 1,
                      .dilation = 1,
                      .stride = 1,
                      .before = 0,
                      .after = 0,
                      .adaptive = true};
    };
    h = axis(image[1], result[1]);
    w = axis(image[2], result[2]);
  } else {
    h = {image[1],   result[1],     a.window.h,       a.dilation.h,
         a.stride.h, a.padding.top, a.padding.bottom, false};
    w = {image[2],   result[2],      a.window.w,      a.dilation.w,
         a.stride.w, a.padding.left, a.padding.right, false};
  }
}

Tensor max_pool2d(const Tensor& x, const Pool2dAttrs& attrs) {
  return apply(max_pool2d_op, {contiguous(x)}, PoolSpec{attrs})[0];
}

Tensor avg_pool2d(const Tensor& x, const Pool2dAttrs& attrs) {
  return apply1(avg_pool2d_op, {contiguous(x)}, PoolSpec{attrs});
}

Tensor adaptive_max_pool2d(const Tensor& x, Pair outputs) {
  return apply(max_pool2d_op, {contiguous(x)}, PoolSpec{{}, outputs})[0];
}

Tensor adaptive_avg_pool2d(const Tensor& x, Pair outputs) {
  return apply1(avg_pool2d_op, {contiguous(x)}, PoolSpec{{}, outputs});
}

Tensor global_max_pool(const Tensor& x) {
  check_defined("global_max_pool", x);
  check<ShapeError>(x.rank() == 4, "global_max_pool: the input is not [N, H, W, C]: got ",
                    x.shape(), ". Reshape it to four axes.");
  return reshape(adaptive_max_pool2d(x, 1), {x.size(0), x.size(3)});
}

Tensor global_avg_pool(const Tensor& x) {
  check_defined("global_avg_pool", x);
  check_images("global_avg_pool", x.meta());
  return mean(x, {1, 2});
}

extern const std::vector<const OpDef*> pool2d_ops{&max_pool2d_op, &max_pool2d_grad_op,
                                                  &avg_pool2d_op, &avg_pool2d_grad_op};

}  // namespace plimsoll
