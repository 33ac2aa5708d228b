#include "ops/conv/conv_transpose2d/conv_transpose2d.h"

#include <algorithm>

#include "core/engine/op.h"
#include "ops/common/expect.h"
#include "ops/conv/conv2d/conv2d.h"
#include "ops/shape/rearrange/rearrange.h"

namespace plimsoll {
namespace {

constexpr const char* kName = "conv_transpose2d";

void check_operands(const Tensor& x, const Tensor& w, const ConvTranspose2dAttrs& a) {
  check_defined(kName, x);
  check_defined(kName, w);
  check<ShapeError>(x.rank() == 4 && w.rank() == 4, kName,
                    ": images [N, H, W, C] and filters [C, KH, KW, O / groups] are needed: got ",
                    x.shape(), " and ", w.shape(), ". Reshape to 4 axes.");
  check<ValueError>(at_least(a.stride, 1) && at_least(a.padding, 0) && at_least(a.dilation, 1) &&
                        at_least(a.output_padding, 0) && a.groups >= 1,
                    kName, ": stride ", a.stride, ", padding ", a.padding, ", output padding ",
                    a.output_padding, ", dilation ", a.dilation, " and groups ", a.groups,
                    " make no convolution. All start at 1, paddings at 0.");
  check<ValueError>(a.output_padding.h < std::max(a.stride.h, a.dilation.h) &&
                        a.output_padding.w < std::max(a.stride.w, a.dilation.w),
                    kName, ": output padding ", a.output_padding, " is too large for stride ",
                    a.stride, " and dilation ", a.dilation, ". Stay below one of them.");
  check<ShapeError>(w.size(0) == x.size(3) && x.size(3) % a.groups == 0, kName, ": an image ",
                    x.shape(), " and filters ", w.shape(), " do not fit ", a.groups,
                    " group(s). w is [C, KH, KW, O / groups], and groups must divide C.");
}

// One axis of the result, from `in` pixels and `taps` of the filter.
int64_t result_size(int64_t in, int64_t taps, int64_t stride, int64_t dilation,
                    int64_t output_padding, int64_t before, int64_t after) {
  const int64_t first_taps = checked_mul(in - 1, stride, kName);
  const int64_t own =
      checked_add(checked_mul(taps - 1, dilation, kName), output_padding + 1, kName);
  return checked_add(checked_add(checked_add(first_taps, own, kName), -before, kName), -after,
                     kName);
}

}  // namespace

Tensor conv_transpose2d(const Tensor& x, const Tensor& w, const ConvTranspose2dAttrs& a) {
  check_operands(x, w, a);
  const Pair size(result_size(x.size(1), w.size(1), a.stride.h, a.dilation.h, a.output_padding.h,
                              a.padding.top, a.padding.bottom),
                  result_size(x.size(2), w.size(2), a.stride.w, a.dilation.w, a.output_padding.w,
                              a.padding.left, a.padding.right));
  check<ShapeError>(std::min({x.size(1), x.size(2), w.size(1), w.size(2), size.h, size.w}) >= 1,
                    kName, ": an image ", x.shape(), " and filters ", w.shape(), " with padding ",
                    a.padding, " leave a result without pixels. Pad less.");
  // conv2d finds so many more windows in an image of that size; they hold zeros.
  const Pair extra(a.output_padding.h / a.stride.h, a.output_padding.w / a.stride.w);
  const Tensor windows =
      extra == Pair(0) ? x : pad(x, {{0, 0}, {0, extra.h}, {0, extra.w}, {0, 0}});
  return conv2d_input_grad(
      windows, w, size,
      {.stride = a.stride, .padding = a.padding, .dilation = a.dilation, .groups = a.groups});
}

extern const std::vector<const OpDef*> conv_transpose2d_ops{};  // conv2d has them all

}  // namespace plimsoll
