// Elements picked and placed by integers.
#include <algorithm>
#include <numeric>

#include "tests/foreign/onnx/cases.h"

namespace plimsoll::onnx {
namespace {

// Negative ids count from the end.
Tensor from_the_front(const Tensor& ids, int64_t size) {
  const Tensor wide = cast(ids, DType::i64);
  const Tensor n = full({}, static_cast<double>(size), {.dtype = DType::i64});
  return where(lt(wide, 0), wide + n, wide);
}

// x [.., A, ..] and ids [..] -> [.., ids.shape, ..] along the axis.
std::vector<Tensor> gather_slices(const OpCall& c) {
  const Tensor x = c[0];
  const int axis = normal_axis("Gather", c.node.integer("axis", 0), x.rank());
  Shape shape;
  for (int i = 0; i < axis; ++i) shape.push_back(x.size(i));
  for (const int64_t size : c[1].shape()) shape.push_back(size);
  for (int i = axis + 1; i < x.rank(); ++i) shape.push_back(x.size(i));
  const Tensor ids = from_the_front(reshape(c[1], {c[1].count()}), x.size(axis));
  return {reshape(index_select(x, axis, ids), shape)};
}

std::vector<Tensor> gather_elements(const OpCall& c) {
  const int axis = normal_axis("GatherElements", c.node.integer("axis", 0), c[0].rank());
  return {gather(c[0], axis, from_the_front(c[1], c[0].size(axis)))};
}

// Places written once get their element; which of several wins in one place is nobody's to say.
Tensor placed(const Tensor& x, int axis, const Tensor& ids, const Tensor& elements,
              const std::string& how) {
  check<Unsupported>(how == "none" || how == "add", "reduction = ", how);
  return in_floating(x, [&](const Tensor& data) {
    const Tensor source = cast(elements, data.dtype());
    if (how == "add") return scatter_add(data, axis, ids, source);
    const Tensor nothing = zeros(data.shape(), {.dtype = data.dtype()});
    const Tensor hits =
        scatter_add(nothing, axis, ids, ones(source.shape(), {.dtype = data.dtype()}));
    return where(gt(hits, 0), scatter_add(nothing, axis, ids, source), data);
  });
}

std::vector<Tensor> scatter_elements(const OpCall& c) {
  const int axis = normal_axis("ScatterElements", c.node.integer("axis", 0), c[0].rank());
  return {placed(c[0], axis, from_the_front(c[1], c[0].size(axis)), c[2],
                 c.node.text("reduction", "none"))};
}

// The last axis of the ids has one for each of the first axes of x, after `batch` shared ones:
// their places in row-major order, one axis after the other.
Tensor row_numbers(const Tensor& x, const Tensor& ids, int batch) {
  Shape shape = ids.shape(), rows;
  for (int i = 0; i + 1 < ids.rank(); ++i) rows.push_back(shape[i]);
  Tensor number = zeros(rows, {.dtype = DType::i64});
  for (int i = 0; i < batch; ++i) {
    std::vector<int64_t> along(static_cast<size_t>(x.size(i)));
    std::iota(along.begin(), along.end(), 0);
    Shape line;
    for (int k = 0; k < rows.rank(); ++k) line.push_back(k == i ? x.size(i) : 1);
    const Tensor size = full({}, static_cast<double>(x.size(i)), {.dtype = DType::i64});
    number = number * size + Tensor::of(std::span<const int64_t>(along), line);
  }
  for (int64_t i = 0; i < shape.back(); ++i) {
    const int64_t axis_size = x.size(batch + static_cast<int>(i));
    const Tensor size = full({}, static_cast<double>(axis_size), {.dtype = DType::i64});
    number = number * size + from_the_front(reshape(slice(ids, -1, i, i + 1), rows), axis_size);
  }
  return reshape(number, {number.count()});
}

// x as rows that the first `axes` axes number.
Tensor as_rows(const Tensor& x, int64_t axes) {
  int64_t rows = 1;
  for (int i = 0; i < axes; ++i) rows *= x.size(i);
  return reshape(x, {rows, x.count() / std::max<int64_t>(rows, 1)});
}

std::vector<Tensor> gather_rows(const OpCall& c) {
  const Tensor x = c[0], ids = c[1];
  const int batch = static_cast<int>(c.node.integer("batch_dims", 0));
  const int64_t axes = batch + ids.size(-1);
  Shape shape;
  for (int i = 0; i + 1 < ids.rank(); ++i) shape.push_back(ids.size(i));
  for (int i = static_cast<int>(axes); i < x.rank(); ++i) shape.push_back(x.size(i));
  return {reshape(index_select(as_rows(x, axes), 0, row_numbers(x, ids, batch)), shape)};
}

std::vector<Tensor> scatter_rows(const OpCall& c) {
  const Tensor rows = as_rows(c[0], c[1].size(-1)), numbers = row_numbers(c[0], c[1], 0);
  const Tensor source = reshape(c[2], {numbers.count(), rows.size(1)});
  const Tensor ids = contiguous(expand(reshape(numbers, {-1, 1}), source.shape()));
  return {reshape(placed(rows, 0, ids, source, c.node.text("reduction", "none")), c[0].shape())};
}

// 1 at the first of the largest elements along an axis.
std::vector<Tensor> hardest(const OpCall& c) {
  const Tensor x = c[0];
  const int axis = normal_axis("Hardmax", c.node.integer("axis", c.opset >= 13 ? -1 : 1), x.rank());
  check<Unsupported>(c.opset >= 13, "rows over several axes");
  const Tensor place = argmax(x, axis, Keep::ones);
  return {scatter_add(zeros(x.shape(), {.dtype = x.dtype()}), axis, place,
                      ones(place.shape(), {.dtype = x.dtype()}))};
}

// Ids outside [-depth, depth) are nowhere on.
std::vector<Tensor> hot(const OpCall& c) {
  const int64_t depth = reshape(c[1], {}).item<int64_t>();
  const int axis = normal_axis("OneHot", c.node.integer("axis", -1), c[0].rank() + 1);
  Shape with_axis;  // of the ids
  for (int i = 0; i <= c[0].rank(); ++i)
    with_axis.push_back(i == axis ? 1 : c[0].size(i < axis ? i : i - 1));
  std::vector<int64_t> numbers(static_cast<size_t>(depth));
  std::iota(numbers.begin(), numbers.end(), 0);
  Shape along;
  along.push_back(depth);
  for (int i = axis; i < c[0].rank(); ++i) along.push_back(1);
  const Tensor ids = from_the_front(reshape(c[0], with_axis), depth);
  const Tensor on = eq(ids, Tensor::of(std::span<const int64_t>(numbers), along));
  const auto [low, high] = split_into<2>(c[2], 0);
  return {where(on, reshape(high, {}), reshape(low, {}))};
}

}  // namespace

Ops index_ops() {
  return {{"Gather", gather_slices},
          {"GatherElements", gather_elements},
          {"ScatterElements", scatter_elements},
          {"Scatter", scatter_elements},
          {"GatherND", gather_rows},
          {"ScatterND", scatter_rows},
          {"Hardmax", hardest},
          {"OneHot", hot}};
}

}  // namespace plimsoll::onnx
