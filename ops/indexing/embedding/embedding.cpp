#include "ops/indexing/embedding/embedding.h"

#include "core/cuda/seam/cuda_kernel.h"
#include "core/engine/apply.h"
#include "ops/indexing/common/ids.h"
#include "ops/indexing/common/select.h"
#include "ops/pointwise/copy/copy.h"

namespace plimsoll {

PLIMSOLL_CUDA_KERNEL(embedding_cuda);
PLIMSOLL_CUDA_KERNEL(embedding_grad_cuda);

namespace {

Metas embedding_infer(std::span<const Meta> in, const Attrs&) {
  check<DTypeError>(is_floating(in[0].dtype),
                    "embedding: the table is not of a floating type: ", in[0], ". Cast it first.");
  check_id_dtype("embedding", in[1]);
  check<ShapeError>(in[0].shape.rank() == 2, "embedding: the table is not a matrix: ", in[0].shape,
                    ". Give it the shape [rows, features].");
  Shape out = in[1].shape;
  out.push_back(in[0].shape[1]);
  return {{out, in[0].dtype, in[0].device}};
}

void embedding_cpu(const Call& call) {
  check_ids("embedding", call.in[1], call.in[0].shape()[0]);
  select_rows(call.in[0], call.in[1], 0, call.out[0]);
}

struct TableAttrs {
  int64_t rows;
  bool operator==(const TableAttrs&) const = default;
};

// Inputs: dy [..., D], ids [...]. Output: the gradient of the table [V, D].
Metas grad_infer(std::span<const Meta> in, const Attrs& attrs) {
  return {{{attrs.as<TableAttrs>().rows, in[0].shape.back()}, in[0].dtype, in[0].device}};
}

int64_t grad_workspace(const Call& call) {
  return add_rows_bytes(call.in[1], call.out[0].shape()[0]);
}

void grad_cpu(const Call& call) {
  check_ids("embedding", call.in[1], call.out[0].shape()[0]);
  add_rows(call.in[0], call.in[1], 0, call.workspace, call.out[0],
           call.in.size() > 2 ? &call.in[2] : nullptr);
}

constexpr OpDef grad_op{.name = "embedding_grad",
                        .infer = grad_infer,
                        .cpu = grad_cpu,
                        .cuda = embedding_grad_cuda,
                        .workspace = grad_workspace};

// The same with a third input [V, D], which is added: a tied table has the gradient of the head
// already, and a second one as large beside it would be the most that is ever alive.
constexpr OpDef grad_add_op{.name = "embedding_grad_add",
                            .infer = grad_infer,
                            .cpu = grad_cpu,
                            .cuda = embedding_grad_cuda,
                            .inplace = 2,
                            .workspace = grad_workspace};

std::vector<Tensor> embedding_vjp(const Backward& b) {
  const TableAttrs table{b.input_meta(0).shape[0]};
  const Tensor dy = contiguous(b.grad());
  Tensor sum = b.take_sum(0);
  if (!sum.defined()) return {apply1(grad_op, {dy, b.input(1)}, table), Tensor()};
  return {apply1(grad_add_op, {dy, b.input(1), std::move(sum)}, table), Tensor()};
}

constexpr OpDef embedding_op{.name = "embedding",
                             .infer = embedding_infer,
                             .cpu = embedding_cpu,
                             .cuda = embedding_cuda,
                             .vjp = {.rule = embedding_vjp, .inputs = bits(1)}};

}  // namespace

// The rows are a small part of the table, whose gradient is then added up in f32.
Tensor embedding(const Tensor& table, const Tensor& ids) {
  const Tensor rows = apply1(embedding_op, {contiguous(table), contiguous(ids)});
  return autocast(CastRule::low, {rows})[0];
}

extern const std::vector<const OpDef*> embedding_ops{&embedding_op, &grad_op, &grad_add_op};

}  // namespace plimsoll
