#include "ops/shape/view/view.h"

#include "core/cpu/copy.h"
#include "core/cuda/seam/cuda_kernel.h"
#include "core/engine/apply.h"
#include "ops/common/expect.h"
#include "ops/pointwise/copy/copy.h"
#include "ops/reduction/sum/sum.h"
#include "ops/shape/view/attrs.h"

namespace plimsoll {

PLIMSOLL_CUDA_KERNEL(slice_grad_cuda);

namespace {

struct ShapeAttrs {  // reshape and expand: the shape wanted; permute: the order
  Shape shape;
  bool operator==(const ShapeAttrs&) const = default;
};

Metas shape_infer(std::span<const Meta> in, const Attrs& attrs) {
  return {{attrs.as<ShapeAttrs>().shape, in[0].dtype, in[0].device}};
}

// --- reshape

// The shape with its -1 worked out.
Shape full_shape(const Shape& from, const Shape& to) {
  Shape result = to;
  int unknown = -1;
  int64_t known = 1;
  for (int axis = 0; axis < to.rank(); ++axis) {
    if (to[axis] == -1 && unknown < 0)
      unknown = axis;
    else
      known = checked_mul(known, to[axis], "reshape");
  }
  if (unknown >= 0 && known > 0) result[unknown] = count(from) / known;
  bool negative = false;
  for (const int64_t size : result) negative = negative || size < 0;
  check<ShapeError>(!negative && count(result) == count(from),
                    "reshape: the number of elements differs: ", from, " to ", to,
                    ". Keep the product of the sizes.");
  return result;
}

Value reshape_view(const Value& in, const Meta& out, const Attrs&, int) {
  return {out, row_major(out.shape), in.offset, in.storage};
}

std::vector<Tensor> reshape_vjp(const Backward& b) {
  return {reshape(b.grad(), b.input_meta(0).shape)};
}

constexpr OpDef reshape_op{
    .name = "reshape", .infer = shape_infer, .vjp = {reshape_vjp}, .view = reshape_view};

// --- permute

Metas permute_infer(std::span<const Meta> in, const Attrs& attrs) {
  const Shape& order = attrs.as<ShapeAttrs>().shape;
  const int rank = in[0].shape.rank();
  Bits seen = 0;
  for (const int64_t axis : order)
    if (axis >= 0 && axis < rank) seen |= bits(axis);
  check<ShapeError>(order.rank() == rank && seen == (bits(rank) - 1),
                    "permute: the order does not name every axis once: ", order, " for shape ",
                    in[0].shape, ". List the axes 0 to ", rank - 1, ".");
  Meta out = in[0];
  for (int axis = 0; axis < rank; ++axis) out.shape[axis] = in[0].shape[order[axis]];
  return {out};
}

Value permute_view(const Value& in, const Meta& out, const Attrs& attrs, int) {
  const Shape& order = attrs.as<ShapeAttrs>().shape;
  Strides strides = in.strides;
  for (int axis = 0; axis < order.rank(); ++axis) strides[axis] = in.strides[order[axis]];
  return {out, strides, in.offset, in.storage};
}

std::vector<Tensor> permute_vjp(const Backward& b) {
  const Shape& order = b.attrs<ShapeAttrs>().shape;
  Shape inverse = order;
  for (int axis = 0; axis < order.rank(); ++axis) inverse[order[axis]] = axis;
  return {permute(b.grad(), inverse)};
}

constexpr OpDef permute_op{
    .name = "permute", .infer = permute_infer, .vjp = {permute_vjp}, .view = permute_view};

// --- slice

Metas slice_infer(std::span<const Meta> in, const Attrs& attrs) {
  const auto& [axis, start, stop, step] = attrs.as<SliceAttrs>();
  Meta out = in[0];
  out.shape[axis] = (stop - start + step - 1) / step;
  return {out};
}

Value slice_view(const Value& in, const Meta& out, const Attrs& attrs, int) {
  const auto& [axis, start, stop, step] = attrs.as<SliceAttrs>();
  Value result{out, in.strides, in.offset + start * in.strides[axis], in.storage};
  result.strides[axis] *= step;
  return result;
}

Metas slice_grad_infer(std::span<const Meta> in, const Attrs& attrs) {
  return {{attrs.as<SliceGradAttrs>().shape, in[0].dtype, in[0].device}};
}

// The gradient of slice: zeros everywhere else.
void slice_grad_cpu(const Call& call) {
  const auto& [axis, start, stop, step] = call.attrs.as<SliceGradAttrs>().slice;
  const View& out = call.out[0];
  const int64_t size = size_of(out.dtype());
  std::fill_n(out.as<std::byte>(), count(out.shape()) * size, std::byte{0});
  View window{out.as<std::byte>() + start * out.strides[axis] * size, call.in[0].meta, out.strides};
  window.strides[axis] *= step;
  copy_strided(call.in[0], window);
}

std::vector<Tensor> slice_grad_vjp(const Backward& b) {
  const auto& [axis, start, stop, step] = b.attrs<SliceGradAttrs>().slice;
  return {slice(b.grad(), axis, start, stop, step)};
}

constexpr OpDef slice_grad_op{.name = "slice_grad",
                              .infer = slice_grad_infer,
                              .cpu = slice_grad_cpu,
                              .cuda = slice_grad_cuda,
                              .vjp = {slice_grad_vjp},
                              .strided = bits(0)};

std::vector<Tensor> slice_vjp(const Backward& b) {
  return {apply1(slice_grad_op, {b.grad()},
                 SliceGradAttrs{b.attrs<SliceAttrs>(), b.input_meta(0).shape})};
}

constexpr OpDef slice_op{
    .name = "slice", .infer = slice_infer, .vjp = {slice_vjp}, .view = slice_view};

// --- expand

Metas expand_infer(std::span<const Meta> in, const Attrs& attrs) {
  const Shape& shape = attrs.as<ShapeAttrs>().shape;
  count(shape);  // refuses sizes that are negative or overflow
  check<ShapeError>(
      shape.rank() >= in[0].shape.rank() && broadcast("expand", in[0].shape, shape) == shape,
      "expand: the shape cannot be reached: ", in[0].shape, " to ", shape,
      ". Only sizes of 1 are repeated.");
  return shape_infer(in, attrs);
}

Value expand_view(const Value& in, const Meta& out, const Attrs&, int) {
  Value result{out, out.shape, in.offset, in.storage};
  const int shift = out.shape.rank() - in.meta.shape.rank();
  for (int axis = 0; axis < out.shape.rank(); ++axis) {
    const int own = axis - shift;
    result.strides[axis] = own < 0 || in.meta.shape[own] == 1 ? 0 : in.strides[own];
  }
  return result;
}

std::vector<Tensor> expand_vjp(const Backward& b) {
  return {sum_to(b.grad(), b.input_meta(0).shape)};
}

constexpr OpDef expand_op{
    .name = "expand", .infer = expand_infer, .vjp = {expand_vjp}, .view = expand_view};

}  // namespace

Tensor reshape(const Tensor& x, const Shape& shape) {
  check_defined("reshape", x);
  const Shape wanted = full_shape(x.shape(), shape);
  return wanted == x.shape() ? x : apply1(reshape_op, {contiguous(x)}, ShapeAttrs{wanted});
}

Tensor permute(const Tensor& x, const Shape& order) {
  return apply1(permute_op, {x}, ShapeAttrs{order});
}

Tensor transpose(const Tensor& x, int64_t axis0, int64_t axis1) {
  check_defined("transpose", x);
  Shape order = x.shape();
  for (int axis = 0; axis < x.rank(); ++axis) order[axis] = axis;
  std::swap(order[normal_axis("transpose", axis0, x.rank())],
            order[normal_axis("transpose", axis1, x.rank())]);
  return permute(x, order);
}

Tensor slice(const Tensor& x, int64_t axis, int64_t start, int64_t stop, int64_t step) {
  check_defined("slice", x);
  const int own = normal_axis("slice", axis, x.rank());
  const int64_t size = x.shape()[own];
  check<IndexError>(0 <= start && start <= stop && stop <= size && step >= 1,
                    "slice: the range does not fit: ", start, " to ", stop, " by ", step,
                    " of axis ", own, " of ", x.shape(), ". Stay within 0 to ", size, ".");
  // A step beyond the axis takes one element, as any longer one does; only those would overflow.
  step = std::min(step, std::max<int64_t>(1, size));
  return apply1(slice_op, {x}, SliceAttrs{own, start, stop, step});
}

Tensor expand(const Tensor& x, const Shape& shape) {
  check_defined("expand", x);
  return shape == x.shape() ? x : apply1(expand_op, {x}, ShapeAttrs{shape});
}

extern const std::vector<const OpDef*> view_ops{&reshape_op, &permute_op, &slice_op, &slice_grad_op,
                                                &expand_op};

}  // namespace plimsoll
