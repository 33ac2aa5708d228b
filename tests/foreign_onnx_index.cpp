// Elements picked and placed by integers.
#include <numeric>

#include "tests/foreign_onnx.h"

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
std::vector<Tensor> scatter_elements(const OpCall& c) {
  const Tensor x = c[0];
  const int axis = normal_axis("ScatterElements", c.node.integer("axis", 0), x.rank());
  const std::string how = c.node.text("reduction", "none");
  check<Unsupported>(how == "none" || how == "add", "reduction = ", how);
  const Tensor ids = from_the_front(c[1], x.size(axis));
  return {in_floating(x, [&](const Tensor& data) {
    const Tensor source = cast(c[2], data.dtype());
    if (how == "add") return scatter_add(data, axis, ids, source);
    const Tensor nothing = zeros(data.shape(), {.dtype = data.dtype()});
    const Tensor hits =
        scatter_add(nothing, axis, ids, ones(source.shape(), {.dtype = data.dtype()}));
    return where(gt(hits, 0), scatter_add(nothing, axis, ids, source), data);
  })};
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
          {"OneHot", hot}};
}

}  // namespace plimsoll::onnx
