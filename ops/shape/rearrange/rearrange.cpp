#include "ops/shape/rearrange/rearrange.h"

#include "core/cpu/copy.h"
#include "core/cpu/parallel.h"
#include "core/cuda/seam/cuda_kernel.h"
#include "core/engine/apply.h"
#include "ops/common/expect.h"
#include "ops/pointwise/copy/copy.h"
#include "ops/shape/concat/concat.h"
#include "ops/shape/rearrange/attrs.h"
#include "ops/shape/split/split.h"
#include "ops/shape/view/view.h"

namespace plimsoll {

PLIMSOLL_CUDA_KERNEL(flip_cuda);
PLIMSOLL_CUDA_KERNEL(triangle_cuda);

namespace {

void flip_cpu(const Call& call) {
  copy_strided(flipped(call.in[0], call.attrs.as<FlipAttrs>().axes), call.out[0]);
}

std::vector<Tensor> flip_vjp(const Backward& b);

constexpr OpDef flip_op{.name = "flip",
                        .infer = same_as_input,
                        .cpu = flip_cpu,
                        .cuda = flip_cuda,
                        .vjp = {flip_vjp},
                        .strided = bits(0)};

std::vector<Tensor> flip_vjp(const Backward& b) {
  return {apply1(flip_op, {b.grad()}, b.attrs<FlipAttrs>())};
}

// --- tril, triu

// Bits are copied, so only the width of the type matters.
template <class T>
void triangle_typed(const Call& call) {
  const TriangleAttrs attrs = call.attrs.as<TriangleAttrs>();
  const bool lower = attrs.lower;
  const Shape& shape = call.out[0].shape();
  const int64_t columns = shape.back(), rows = shape[shape.rank() - 2];
  const int64_t shift = triangle_shift(attrs, rows, columns);
  const T* x = call.in[0].as<T>();
  T* y = call.out[0].as<T>();
  parallel_for(count(shape) / columns, grain_for(columns), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t cut = std::clamp<int64_t>(row % rows + shift, 0, columns);
      const T* from = x + row * columns;
      T* to = y + row * columns;
      for (int64_t j = 0; j < cut; ++j) to[j] = lower ? from[j] : T(0);
      for (int64_t j = cut; j < columns; ++j) to[j] = lower ? T(0) : from[j];
    }
  });
}

void triangle_cpu(const Call& call) {
  visit_width(size_of(call.out[0].dtype()), [&]<class T>() { triangle_typed<T>(call); });
}

std::vector<Tensor> triangle_vjp(const Backward& b);

constexpr OpDef triangle_op{.name = "triangle",
                            .infer = same_as_input,
                            .cpu = triangle_cpu,
                            .cuda = triangle_cuda,
                            .vjp = {triangle_vjp},
                            .inplace = 0};

std::vector<Tensor> triangle_vjp(const Backward& b) {
  return {apply1(triangle_op, {contiguous(b.grad())}, b.attrs<TriangleAttrs>())};
}

Tensor triangle(const char* op, const Tensor& x, TriangleAttrs attrs) {
  check_defined(op, x);
  check<ShapeError>(x.rank() >= 2, op, ": there are no rows and columns: ", x.shape(),
                    ". Pass a tensor with two axes or more.");
  return apply1(triangle_op, {contiguous(x)}, attrs);
}

}  // namespace

Tensor flip(const Tensor& x, const Shape& axes) {
  check_defined("flip", x);
  Bits set = 0;
  for (const int64_t axis : axes) {
    const int own = normal_axis("flip", axis, x.rank());
    check<ShapeError>(!has(set, own), "flip: an axis is named twice: ", axes, " for shape ",
                      x.shape(), ". Name each axis once.");
    set |= bits(own);
  }
  return set ? apply1(flip_op, {x}, FlipAttrs{set}) : x;
}

Tensor roll(const Tensor& x, const Shape& shifts, const Shape& axes) {
  check_defined("roll", x);
  check<ShapeError>(shifts.rank() == axes.rank(), "roll: shifts and axes do not match: ", shifts,
                    " and ", axes, ". Give one shift for each axis.");
  Tensor y = x;
  for (int k = 0; k < axes.rank(); ++k) {
    const int axis = normal_axis("roll", axes[k], x.rank());
    const int64_t size = x.shape()[axis];
    const int64_t shift = size ? (shifts[k] % size + size) % size : 0;
    if (shift == 0) continue;
    const std::vector<Tensor> parts = split(y, axis, {size - shift, shift});
    y = concat(std::array{parts[1], parts[0]}, axis);
  }
  return y;
}

Tensor tile(const Tensor& x, const Shape& repeats) {
  check_defined("tile", x);
  Shape sizes;
  for (int k = x.rank(); k < repeats.rank(); ++k) sizes.push_back(1);
  for (const int64_t size : x.shape()) sizes.push_back(size);
  Tensor y = reshape(x, sizes);
  const int shift = y.rank() - repeats.rank();
  for (int k = 0; k < repeats.rank(); ++k) {
    const int64_t n = repeats[k];
    check<ShapeError>(n >= 0, "tile: a number of repeats is negative: ", repeats,
                      ". Use numbers from 0.");
    if (n == 1) continue;
    // [outer, inner] -> [outer, n, inner]: never more than three axes, whatever the rank is.
    Shape wanted = y.shape();
    int64_t outer = 1;
    for (int axis = 0; axis < shift + k; ++axis) outer *= wanted[axis];
    int64_t inner = 1;
    for (int axis = shift + k; axis < wanted.rank(); ++axis) inner *= wanted[axis];
    wanted[shift + k] = checked_mul(wanted[shift + k], n, "tile");
    y = reshape(expand(reshape(y, {outer, 1, inner}), {outer, n, inner}), wanted);
  }
  return y;
}

Tensor stack(std::span<const Tensor> tensors, int64_t axis) {
  check<ShapeError>(!tensors.empty(),
                    "stack: there is no tensor to join: 0 were given. Pass at least one.");
  for (const Tensor& x : tensors) check_defined("stack", x);
  const Shape& shape = tensors[0].shape();
  const int own = normal_axis("stack", axis, shape.rank() + 1);
  Shape one;
  for (int a = 0; a <= shape.rank(); ++a) one.push_back(a == own ? 1 : shape[a < own ? a : a - 1]);
  std::vector<Tensor> rows;
  for (size_t i = 0; i < tensors.size(); ++i) {
    check<ShapeError>(tensors[i].shape() == shape, "stack: the shapes differ: tensor 0 is ", shape,
                      ", tensor ", i, " is ", tensors[i].shape(), ". Bring them to one shape.");
    rows.push_back(reshape(tensors[i], one));
  }
  return concat(rows, own);
}

Tensor tril(const Tensor& x, int64_t diagonal) { return triangle("tril", x, {true, diagonal}); }
Tensor triu(const Tensor& x, int64_t diagonal) { return triangle("triu", x, {false, diagonal}); }

extern const std::vector<const OpDef*> rearrange_ops{&flip_op, &triangle_op};

}  // namespace plimsoll
