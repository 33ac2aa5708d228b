#include "ops/conv/conv1d/conv1d.h"

#include "core/engine/op.h"
#include "ops/common/expect.h"
#include "ops/conv/conv2d/conv2d.h"
#include "ops/conv/conv_transpose2d/conv_transpose2d.h"
#include "ops/shape/view/view.h"

namespace plimsoll {
namespace {

void check_operands(const char* op, const Tensor& x, const Tensor& w) {
  check_defined(op, x);
  check_defined(op, w);
  check<ShapeError>(x.rank() == 3 && w.rank() == 3, op,
                    ": sequences [N, L, C] and filters of 3 axes are needed: got ", x.shape(),
                    " and ", w.shape(), ". Reshape to 3 axes.");
}

Tensor with_height(const Tensor& x) {  // [A, L, B] -> [A, 1, L, B]
  return reshape(x, {x.size(0), 1, x.size(1), x.size(2)});
}

Tensor without_height(const Tensor& y) { return reshape(y, {y.size(0), y.size(2), y.size(3)}); }

Padding left_and_right(const Sides& sides) { return {0, 0, sides.before, sides.after}; }

}  // namespace

Tensor conv1d(const Tensor& x, const Tensor& w, const Conv1dAttrs& a) {
  return conv1d(x, w, Tensor(), a);
}

Tensor conv1d(const Tensor& x, const Tensor& w, const Tensor& bias, const Conv1dAttrs& a) {
  check_operands("conv1d", x, w);
  return without_height(conv2d(with_height(x), with_height(w), bias,
                               {.stride = {1, a.stride},
                                .padding = left_and_right(a.padding),
                                .dilation = {1, a.dilation},
                                .groups = a.groups}));
}

Tensor conv_transpose1d(const Tensor& x, const Tensor& w, const ConvTranspose1dAttrs& a) {
  check_operands("conv_transpose1d", x, w);
  return without_height(conv_transpose2d(with_height(x), with_height(w),
                                         {.stride = {1, a.stride},
                                          .padding = left_and_right(a.padding),
                                          .output_padding = {0, a.output_padding},
                                          .dilation = {1, a.dilation},
                                          .groups = a.groups}));
}

extern const std::vector<const OpDef*> conv1d_ops{};  // compositions: no op of their own

}  // namespace plimsoll
