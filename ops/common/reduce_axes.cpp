#include "ops/common/reduce_axes.h"

#include "ops/common/expect.h"
#include "ops/pointwise/copy/copy.h"
#include "ops/shape/view/view.h"

namespace plimsoll {

MiddleAxis middle_axis(const Shape& shape, const ReduceAttrs& attrs) {
  MiddleAxis result;
  for (int axis = 0; axis < shape.rank(); ++axis)
    (axis < attrs.first  ? result.outer
     : axis < attrs.last ? result.mid
                         : result.inner) *= shape[axis];
  return result;
}

int64_t cuda_chunk(const MiddleAxis& a) {
  constexpr int64_t kEnoughBlocks = 512;                     // 4 for each multiprocessor
  const int64_t wide = std::clamp<int64_t>(a.inner, 1, 32);  // outputs of a block
  const int64_t blocks = std::max<int64_t>(1, a.outer * pieces(a.inner, wide));
  return std::max(pieces(a.mid, pieces(kEnoughBlocks, blocks)), grain_for(4 * wide));
}

int64_t cuda_reduce_bytes(const MiddleAxis& a) {
  const int64_t chunks = pieces(a.mid, cuda_chunk(a));
  return chunks > 1 ? chunks * a.outer * a.inner * kReduceState : 0;
}

int64_t reduce_workspace(const Call& call) {
  if (call.in[0].device() != Device::cuda) return 0;
  return cuda_reduce_bytes(middle_axis(call.in[0].shape(), call.attrs.as<ReduceAttrs>()));
}

int64_t reduce_grad_workspace(const Call& call) {
  if (call.in[1].device() != Device::cuda) return 0;
  const MiddleAxis a = middle_axis(call.in[1].shape(), call.attrs.as<ReduceAttrs>());
  return cuda_reduce_bytes(a) + a.outer * a.inner * kReduceState;
}

Shape reduced_shape(const Shape& shape, const ReduceAttrs& attrs, Keep keep) {
  Shape result;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const bool reduced = axis >= attrs.first && axis < attrs.last;
    if (!reduced)
      result.push_back(shape[axis]);
    else if (keep == Keep::ones)
      result.push_back(1);
  }
  return result;
}

Shape all_axes(int rank) {
  Shape axes;
  for (int axis = 0; axis < rank; ++axis) axes.push_back(axis);
  return axes;
}

Metas reduce_infer(std::span<const Meta> in, const Attrs& attrs) {
  const auto& reduce = attrs.as<ReduceAttrs>();
  return {{reduced_shape(in[0].shape, reduce, reduce.keep), in[0].dtype, in[0].device}};
}

Tensor reduce_axes(const OpDef& op, const Tensor& x, const Shape& axes, Keep keep, double number) {
  check_defined(op.name, x);
  check_floating(op.name, x.dtype());
  return reduce_axes_any(op, x, axes, keep, number);
}

Tensor reduce_axes_any(const OpDef& op, const Tensor& x, const Shape& axes, Keep keep,
                       double number) {
  check_defined(op.name, x);
  Bits reduced = 0;
  for (const int64_t axis : axes) {
    const int own = normal_axis(op.name, axis, x.rank());
    check<ShapeError>(!has(reduced, own), op.name, ": an axis is named twice: ", axes,
                      " for shape ", x.shape(), ". Name each axis once.");
    reduced |= bits(own);
  }
  if (reduced == 0) return x;

  Shape kept_axes, reduced_axes, shape_with_ones;
  for (int axis = 0; axis < x.rank(); ++axis) {
    (has(reduced, axis) ? reduced_axes : kept_axes).push_back(axis);
    shape_with_ones.push_back(has(reduced, axis) ? 1 : x.shape()[axis]);
  }
  const int first = static_cast<int>(reduced_axes[0]);
  const int n = reduced_axes.rank();
  if (reduced_axes.back() - first == n - 1)
    return apply1(op, {contiguous(x)}, ReduceAttrs{first, first + n, keep, number});

  Shape order = kept_axes;
  for (const int64_t axis : reduced_axes) order.push_back(axis);
  const Tensor y = apply1(op, {contiguous(permute(x, order))},
                          ReduceAttrs{x.rank() - n, x.rank(), Keep::none, number});
  return keep == Keep::ones ? reshape(y, shape_with_ones) : y;
}

}  // namespace plimsoll
