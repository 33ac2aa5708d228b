#include "ops/shape/split/split.h"

#include <numeric>

#include "core/engine/apply.h"
#include "ops/common/expect.h"
#include "ops/random/full/full.h"
#include "ops/shape/concat/concat.h"
#include "ops/shape/view/view.h"

namespace plimsoll {
namespace {

struct SplitAttrs {
  int axis;
  std::vector<int64_t> sizes;
  bool operator==(const SplitAttrs&) const = default;
};

Metas split_infer(std::span<const Meta> in, const Attrs& attrs) {
  const auto& [axis, sizes] = attrs.as<SplitAttrs>();
  Metas out(sizes.size(), in[0]);
  for (size_t k = 0; k < sizes.size(); ++k) out[k].shape[axis] = sizes[k];
  return out;
}

Value split_view(const Value& in, const Meta& out, const Attrs& attrs, int output) {
  const auto& [axis, sizes] = attrs.as<SplitAttrs>();
  const int64_t start = std::accumulate(sizes.begin(), sizes.begin() + output, int64_t{0});
  return {out, in.strides, in.offset + start * in.strides[axis], in.storage};
}

std::vector<Tensor> split_vjp(const Backward& b) {
  const auto& [axis, sizes] = b.attrs<SplitAttrs>();
  std::vector<Tensor> grads;
  for (int k = 0; k < static_cast<int>(sizes.size()); ++k) {
    const Meta& part = b.output_meta(k);
    Tensor dy = b.take_grad(k);
    grads.push_back(dy.defined() ? std::move(dy)
                                 : expand(zeros({}, {part.dtype, part.device}), part.shape));
  }
  return {concat(grads, axis)};
}

constexpr OpDef split_op{
    .name = "split", .infer = split_infer, .vjp = {split_vjp}, .view = split_view};

}  // namespace

std::vector<Tensor> split(const Tensor& x, int64_t axis, const std::vector<int64_t>& sizes) {
  check_defined("split", x);
  const int own = normal_axis("split", axis, x.rank());
  int64_t total = 0;
  bool negative = false;
  std::string list;
  for (const int64_t size : sizes) {
    negative = negative || size < 0;
    total = checked_add(total, size, "split");
    list += cat(list.empty() ? "" : ", ", size);
  }
  check<ShapeError>(!negative && !sizes.empty() && total == x.shape()[own],
                    "split: the sizes do not add up to the axis: [", list, "] for axis ", own,
                    " of ", x.shape(), ". Give sizes from 0 with the sum ", x.shape()[own], ".");
  const std::array inputs{x};
  return apply(split_op, inputs, SplitAttrs{own, sizes});
}

std::vector<Tensor> split(const Tensor& x, int64_t axis, int64_t parts) {
  check_defined("split", x);
  const int64_t size = x.shape()[normal_axis("split", axis, x.rank())];
  check<ShapeError>(parts >= 1 && size % parts == 0, "split: ", parts,
                    " parts do not divide the axis: its size is ", size,
                    ". Choose a divisor, or give the sizes.");
  return split(x, axis, std::vector<int64_t>(static_cast<size_t>(parts), size / parts));
}

extern const std::vector<const OpDef*> split_ops{&split_op};

}  // namespace plimsoll
