// Elements that keep their values: reshaped, moved, cut, joined, repeated, padded.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/foreign/onnx/cases.h"

namespace plimsoll::onnx {
namespace {

std::vector<Tensor> reshaped(const OpCall& c) {
  const bool zero_is_size = c.node.flag("allowzero");
  std::vector<int64_t> sizes = c.integers_of("shape", 1).value();
  for (size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] == 0 && !zero_is_size) sizes[i] = c[0].size(static_cast<int>(i));
  return {reshape(c[0], shape_of(sizes))};
}

std::vector<Tensor> flattened(const OpCall& c) {
  int64_t axis = c.node.integer("axis", 1), outer = 1;
  if (axis < 0) axis += c[0].rank();
  for (int i = 0; i < axis; ++i) outer *= c[0].size(i);
  int64_t inner = 1;
  for (int i = static_cast<int>(axis); i < c[0].rank(); ++i) inner *= c[0].size(i);
  return {reshape(c[0], {outer, inner})};
}

std::vector<Tensor> squeezed(const OpCall& c) {
  const Tensor x = c[0];
  const auto axes = c.integers_of("axes", 1);
  std::vector<bool> gone(static_cast<size_t>(x.rank()));
  for (int i = 0; i < x.rank(); ++i) gone[i] = !axes && x.size(i) == 1;
  if (axes)
    for (const int64_t axis : *axes) {
      const int i = normal_axis("Squeeze", axis, x.rank());
      check<ShapeError>(x.size(i) == 1, "Squeeze: axis ", i, " of ", x.shape(),
                        " is not 1. Keep it.");
      gone[i] = true;
    }
  Shape shape;
  for (int i = 0; i < x.rank(); ++i)
    if (!gone[i]) shape.push_back(x.size(i));
  return {reshape(x, shape)};
}

std::vector<Tensor> unsqueezed(const OpCall& c) {
  const std::vector<int64_t> axes = c.integers_of("axes", 1).value();
  const int rank = c[0].rank() + static_cast<int>(axes.size());
  std::vector<bool> fresh(static_cast<size_t>(rank));
  for (const int64_t axis : axes) fresh[normal_axis("Unsqueeze", axis, rank)] = true;
  Shape shape;
  for (int i = 0, from = 0; i < rank; ++i) shape.push_back(fresh[i] ? 1 : c[0].size(from++));
  return {reshape(c[0], shape)};
}

std::vector<Tensor> permuted(const OpCall& c) {
  std::vector<int64_t> order(static_cast<size_t>(c[0].rank()));
  std::iota(order.rbegin(), order.rend(), 0);
  return {permute(c[0], shape_of(c.node.integers("perm", order)))};
}

// Sizes of 1 in the wanted shape leave larger ones of x alone.
std::vector<Tensor> expanded(const OpCall& c) {
  return {expand(c[0], broadcast("Expand", c[0].shape(), shape_of(c.integers(1))))};
}

// NumPy's x[start:stop:step]; a negative step goes through the flipped axis.
Tensor sliced(Tensor x, int axis, int64_t start, int64_t stop, int64_t step) {
  const int64_t n = x.size(axis);
  check<ValueError>(step != 0, "Slice: a step is 0. Use 1.");
  if (start < 0) start += n;
  if (stop < 0) stop = std::max<int64_t>(stop, -n - 1) + n;
  if (step < 0) {
    x = flip(x, {axis});
    start = n - 1 - std::min(start, n - 1);
    stop = n - 1 - std::min(stop, n - 1);
    step = -step;
  }
  start = std::clamp<int64_t>(start, 0, n);
  stop = std::clamp<int64_t>(stop, start, n);
  return slice(x, axis, start, stop, std::min(step, std::max<int64_t>(n, 1)));
}

std::vector<Tensor> cut(const OpCall& c) {
  const auto starts = c.integers_of("starts", 1).value();
  const auto stops = c.integers_of("ends", 2).value();
  std::vector<int64_t> all(starts.size());
  std::iota(all.begin(), all.end(), 0);
  const auto axes = c.integers_of("axes", 3).value_or(all);
  const auto steps = c.has(4) ? c.integers(4) : std::vector<int64_t>(starts.size(), 1);
  Tensor x = c[0];
  for (size_t i = 0; i < starts.size(); ++i)
    x = sliced(x, normal_axis("Slice", axes.at(i), x.rank()), starts[i], stops.at(i), steps.at(i));
  return {x};
}

// By sizes, or into equal parts, of which the last is smaller where they do not divide the axis.
std::vector<Tensor> parted(const OpCall& c) {
  const int axis = normal_axis("Split", c.node.integer("axis", 0), c[0].rank());
  const auto sizes = c.integers_of("split", 1);
  const int64_t parts = c.node.integer("num_outputs", static_cast<int64_t>(c.node.outputs.size()));
  check<ValueError>(parts > 0, "Split: the number of parts is ", parts, ". Use 1 or more.");
  if (sizes) return split(c[0], axis, *sizes);
  const int64_t n = c[0].size(axis), each = (n + parts - 1) / parts;
  std::vector<int64_t> equal;
  for (int64_t i = 0; i < parts; ++i) equal.push_back(std::clamp<int64_t>(n - i * each, 0, each));
  return split(c[0], axis, equal);
}

// All amounts before, then all after. Negative ones take away.
std::vector<Tensor> padded(const OpCall& c) {
  Tensor x = c[0];
  const auto amounts = c.integers_of("pads", 1).value();
  const double value = c.real(2, c.node.real("value", 0));
  const size_t n = amounts.size() / 2;
  std::vector<int64_t> axes(n);
  std::iota(axes.begin(), axes.end(), 0);
  if (c.has(3)) axes = c.integers(3);
  PadAmounts all(static_cast<size_t>(x.rank()));
  for (size_t i = 0; i < n; ++i) {
    const int axis = normal_axis("Pad", axes.at(i), x.rank());
    const int64_t before = amounts[i], after = amounts[n + i];
    x = slice(x, axis, std::max<int64_t>(-before, 0), x.size(axis) - std::max<int64_t>(-after, 0));
    all[axis] = {std::max<int64_t>(before, 0), std::max<int64_t>(after, 0)};
  }
  return {pad(x, all, pad_mode(c.node.text("mode", "constant")), value)};
}

std::vector<Tensor> triangle(const OpCall& c) {
  const int64_t diagonal = c.integer(1, 0);
  return {c.node.flag("upper", true) ? triu(c[0], diagonal) : tril(c[0], diagonal)};
}

int64_t block_size(const OpCall& c) {
  const int64_t size = c.node.integer("blocksize", 1);
  check<ValueError>(size > 0, "blocksize is ", size, ". Use 1 or more.");
  return size;
}

// [N, C, H, W] with blocks of b x b channels laid out in the plane, and back.
std::vector<Tensor> depth_to_space(const OpCall& c) {
  const int64_t b = block_size(c), n = c[0].size(0), ch = c[0].size(1) / (b * b), h = c[0].size(2),
                w = c[0].size(3);
  const bool columns_first = c.node.text("mode", "DCR") == "DCR";
  const Tensor x = columns_first ? permute(reshape(c[0], {n, b, b, ch, h, w}), {0, 3, 4, 1, 5, 2})
                                 : permute(reshape(c[0], {n, ch, b, b, h, w}), {0, 1, 4, 2, 5, 3});
  return {reshape(x, {n, ch, h * b, w * b})};
}

std::vector<Tensor> space_to_depth(const OpCall& c) {
  const int64_t b = block_size(c), n = c[0].size(0), ch = c[0].size(1), h = c[0].size(2) / b,
                w = c[0].size(3) / b;
  const bool blocks_first = c.node.text("mode", "DCR") == "DCR";
  const Tensor x = permute(reshape(c[0], {n, ch, h, b, w, b}),
                           blocks_first ? Shape{0, 3, 5, 1, 2, 4} : Shape{0, 1, 3, 5, 2, 4});
  return {reshape(x, {n, ch * b * b, h, w})};
}

std::vector<Tensor> sizes_of(const OpCall& c) {
  const int64_t rank = c[0].rank();
  const auto within = [&](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + rank : i, 0, rank); };
  const int64_t first = within(c.node.integer("start", 0));
  const int64_t last = std::max(first, within(c.node.integer("end", rank)));
  return {Tensor::of(std::span(c[0].shape().begin() + first, c[0].shape().begin() + last),
                     {last - first})};
}

// A tensor, or one or several numbers.
std::vector<Tensor> constant(const OpCall& c) {
  const Node& n = c.node;
  const auto list = [](const auto& values) {
    return std::vector{Tensor::of(std::span(values), {static_cast<int64_t>(values.size())})};
  };
  if (n.has("value")) return {n.tensor("value")};
  if (n.has("value_int")) return {Tensor::of<int64_t>({n.integer("value_int", 0)}, {})};
  if (n.has("value_ints")) return list(n.integers("value_ints", {}));
  if (n.has("value_float")) return {full({}, n.real("value_float", 0))};
  if (n.has("value_floats")) {
    const std::vector<double> reals = n.reals("value_floats");
    return list(std::vector<float>(reals.begin(), reals.end()));
  }
  fail<Unsupported>("another form than numbers");
}

// start, start + step, ... before stop.
std::vector<Tensor> counted(const OpCall& c) {
  const double start = c.real(0, 0), stop = c.real(1, 0), step = c.real(2, 1);
  const double steps = std::max(std::ceil((stop - start) / step), 0.0);
  check<ValueError>(steps <= 1 << 24, "Range: ", steps, " elements by ", step, ". Use fewer.");
  const auto n = static_cast<int64_t>(steps);
  std::vector<double> values;
  for (int64_t i = 0; i < n; ++i) values.push_back(start + static_cast<double>(i) * step);
  return {cast(Tensor::of(std::span<const double>(values), {n}), c[0].dtype())};
}

std::vector<Tensor> eye(const OpCall& c) {
  const DType dtype =
      c.node.has("dtype") ? dtype_of_number(c.node.integer("dtype", 1)) : c[0].dtype();
  const int64_t diagonal = c.node.integer("k", 0);
  return {triu(tril(ones(c[0].shape(), {.dtype = dtype}), diagonal), diagonal)};
}

// Cut or padded to a shape, the same on both sides; what is odd is left behind.
std::vector<Tensor> centred(const OpCall& c) {
  Tensor x = c[0];
  const std::vector<int64_t> sizes = c.integers(1);
  std::vector<int64_t> all(sizes.size());
  std::iota(all.begin(), all.end(), 0);
  const std::vector<int64_t> axes = c.node.integers("axes", all);
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int axis = normal_axis("CenterCropPad", axes.at(i), x.rank());
    const int64_t more = sizes[i] - x.size(axis);
    if (more < 0) x = slice(x, axis, -more / 2, -more / 2 + sizes[i]);
    if (more <= 0) continue;
    PadAmounts amounts(static_cast<size_t>(x.rank()));
    amounts[static_cast<size_t>(axis)] = {more / 2, more - more / 2};
    x = pad(x, amounts);
  }
  return {x};
}

std::vector<Tensor> constant_of_shape(const OpCall& c) {
  const Tensor value = c.node.tensor("value");
  return {value.defined() ? expand(reshape(value, {}), shape_of(c.integers(0)))
                          : zeros(shape_of(c.integers(0)))};
}

}  // namespace

Ops shape_ops() {
  return {
      {"Reshape", reshaped},
      {"Flatten", flattened},
      {"Squeeze", squeezed},
      {"Unsqueeze", unsqueezed},
      {"Transpose", permuted},
      {"Expand", expanded},
      {"Slice", cut},
      {"Split", parted},
      {"Concat", [](auto& c) { return std::vector{concat(c.in, c.node.integer("axis", 1))}; }},
      {"Tile", [](auto& c) { return std::vector{tile(c[0], shape_of(c.integers(1)))}; }},
      {"Pad", padded},
      {"Trilu", triangle},
      {"DepthToSpace", depth_to_space},
      {"SpaceToDepth", space_to_depth},
      {"Shape", sizes_of},
      {"Size", [](auto& c) { return std::vector{Tensor::of<int64_t>({c[0].count()}, {})}; }},
      {"Constant", constant},
      {"Range", counted},
      {"EyeLike", eye},
      {"CenterCropPad", centred},
      {"ConstantOfShape", constant_of_shape},
  };
}

}  // namespace plimsoll::onnx
