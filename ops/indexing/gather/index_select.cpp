// index_select: x [outer, n, inner], ids [k] -> y [outer, k, inner].
#include "core/cuda/seam/cuda_kernel.h"
#include "ops/common/expect.h"
#include "ops/indexing/common/ids.h"
#include "ops/indexing/common/select.h"
#include "ops/indexing/gather/gather.h"
#include "ops/indexing/gather/walk.h"
#include "ops/pointwise/copy/copy.h"

namespace plimsoll {

PLIMSOLL_CUDA_KERNEL(index_select_cuda);
PLIMSOLL_CUDA_KERNEL(index_select_grad_cuda);

namespace {

Metas select_infer(std::span<const Meta> in, const Attrs& attrs) {
  check_id_dtype("index_select", in[1]);
  check<ShapeError>(in[1].shape.rank() == 1, "index_select: the ids are not a list: ", in[1].shape,
                    ". Give them one axis, or use gather.");
  Meta out = in[0];
  out.shape[attrs.as<SelectAttrs>().axis] = in[1].shape[0];
  return {out};
}

void select_cpu(const Call& call) {
  const auto& attrs = call.attrs.as<SelectAttrs>();
  check_ids("index_select", call.in[1], attrs.size);
  select_rows(call.in[0], call.in[1], attrs.axis, call.out[0]);
}

Metas grad_infer(std::span<const Meta> in, const Attrs& attrs) {
  const auto& [axis, size] = attrs.as<SelectAttrs>();
  Meta out = in[0];
  out.shape[axis] = size;
  return {out};
}

int64_t grad_workspace(const Call& call) {
  return add_rows_bytes(call.in[1], call.attrs.as<SelectAttrs>().size);
}

// Inputs: dy [outer, k, inner], ids [k]. Output: dx [outer, n, inner].
void grad_cpu(const Call& call) {
  const auto& attrs = call.attrs.as<SelectAttrs>();
  check_ids("index_select", call.in[1], attrs.size);
  add_rows(call.in[0], call.in[1], attrs.axis, call.workspace, call.out[0]);
}

}  // namespace

extern const OpDef index_select_op, index_select_grad_op;

constexpr OpDef index_select_grad_op{.name = "index_select_grad",
                                     .infer = grad_infer,
                                     .cpu = grad_cpu,
                                     .cuda = index_select_grad_cuda,
                                     .workspace = grad_workspace};

namespace {

std::vector<Tensor> select_vjp(const Backward& b) {
  return {apply1(index_select_grad_op, {contiguous(b.grad()), b.input(1)}, b.attrs<SelectAttrs>()),
          Tensor()};
}

}  // namespace

constexpr OpDef index_select_op{.name = "index_select",
                                .infer = select_infer,
                                .cpu = select_cpu,
                                .cuda = index_select_cuda,
                                .vjp = {.rule = select_vjp, .inputs = bits(1)}};

Tensor index_select(const Tensor& x, int64_t axis, const Tensor& ids) {
  check_defined("index_select", x);
  const int own = normal_axis("index_select", axis, x.rank());
  return apply1(index_select_op, {contiguous(x), contiguous(ids)},
                SelectAttrs{own, x.shape()[own]});
}

}  // namespace plimsoll
