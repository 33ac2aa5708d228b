#include "ops/linear/epilogues.h"

#include "core/apply.h"
#include "core/cuda_kernel.h"
#include "core/epilogue_rule.h"
#include "core/operands.h"
#include "ops/copy/copy.h"
#include "ops/gelu/formulas.h"
#include "ops/pointwise.h"
#include "ops/reduce_axes.h"

namespace plimsoll {

PLIMSOLL_CUDA_KERNEL(linear_gelu_tanh_cuda);
PLIMSOLL_CUDA_KERNEL(matmul_gelu_tanh_grad_cuda);
PLIMSOLL_CUDA_KERNEL(linear_weight_grad_cuda);

extern const OpDef linear_op, matmul_op, sum_op;
extern const OpDef linear_gelu_op, gelu_grad_op, weight_grad_op;

namespace {

using Gelu = Unary<formulas::GeluTanh>;

const Attrs& over_rows() {
  static const Attrs attrs = ReduceAttrs{.first = 0, .last = 1};
  return attrs;
}

// Runs an op that these are made of: on the CPU they are nothing but its kernels, one after another.
void run(const OpDef& op, std::initializer_list<View> in, const View& out, const Attrs& attrs,
         std::span<std::byte> workspace) {
  if (count(out.shape()) > 0) op.cpu({{in.begin(), in.size()}, {&out, 1}, attrs, workspace});
}

// The rows of the last axis as a matrix.
Meta as_matrix(const Meta& x) {
  if (x.shape.rank() == 0) return {{1, 1}, x.dtype, x.device};
  int64_t rows = 1;
  for (int axis = 0; axis < x.shape.rank() - 1; ++axis) rows *= x.shape[axis];
  return {{rows, x.shape.back()}, x.dtype, x.device};
}
View as_matrix(const View& x) {
  const Meta meta = as_matrix(x.meta);
  return {x.data, meta, row_major(meta.shape)};
}

int64_t sum_bytes(const Meta& x) {
  const Meta matrix = as_matrix(x), row{{matrix.shape[1]}, x.dtype, x.device};
  return workspace_bytes(sum_op, {&matrix, 1}, {&row, 1}, over_rows());
}

Metas linear_gelu_infer(std::span<const Meta> in, const Attrs& attrs) {
  Metas out = linear_op.infer(in, {});
  if (attrs.as<EpilogueAttrs>().both) out.push_back(out[0]);
  return out;
}

int64_t linear_gelu_workspace(const Call& call) {
  return workspace_bytes(linear_op, in, out.first(1), {});
}

void linear_gelu_cpu(const Call& call) {
  const View &y = call.out[0], &h = call.out.back();
  linear_op.cpu({call.in, {&h, 1}, call.attrs, call.workspace});
  run(Gelu::op, {h}, y, {}, {});
}

Metas gelu_grad_infer(std::span<const Meta> in, const Attrs& attrs) {
  const Metas product = matmul_op.infer(in.first(2), {});
  check<DTypeError>(in[2].dtype == product[0].dtype,
                    "matmul_gelu_tanh_grad: the types differ: ", product[0].dtype, " and ",
                    in[2].dtype, ". Cast one of them.");
  check<ShapeError>(product[0].shape.rank() == 2 && in[2].shape.rank() > 0 &&
                        as_matrix(in[2]).shape == product[0].shape,
                    "matmul_gelu_tanh_grad: the input of gelu does not fit: ", in[2].shape,
                    " for a product ", product[0].shape,
                    ". Give it as many rows, of as many elements.");
  if (!attrs.as<EpilogueAttrs>().both) return {in[2]};
  return {in[2], {{in[2].shape.back()}, in[2].dtype, in[2].device}};
}

int64_t gelu_grad_workspace(const Call& call) {
  const Meta product = as_matrix(call.out[0].meta);
  const int64_t bytes = workspace_bytes(matmul_op, in.first(2), {&product, 1}, {});
  return call.attrs.as<EpilogueAttrs>().both ? std::max(bytes, sum_bytes(call.out[0].meta)) : bytes;
}

void gelu_grad_cpu(const Call& call) {
  const View dh = as_matrix(call.out[0]);
  run(matmul_op, {call.in[0], call.in[1]}, dh, {}, call.workspace);
  run(Gelu::grad, {call.out[0], call.in[2]}, call.out[0], {}, {});
  if (call.out.size() == 2) run(sum_op, {dh}, call.out[1], over_rows(), call.workspace);
}

Metas weight_grad_infer(std::span<const Meta> in, const Attrs&) {
  const Shape &dy = in[0].shape, &x = in[1].shape;
  check<DTypeError>(in[0].dtype == in[1].dtype && is_floating(in[0].dtype),
                    "linear_weight_grad: two tensors of one floating type are needed: got ",
                    in[0].dtype, " and ", in[1].dtype, ". Cast one of them.");
  check<ShapeError>(dy.rank() == 2 && x.rank() == 2 && dy[0] == x[0],
                    "linear_weight_grad: they are not matrices of as many rows: ", dy, " and ", x,
                    ". Reshape them.");
  return {{{dy[1], x[1]}, in[0].dtype, in[0].device}, {{dy[1]}, in[0].dtype, in[0].device}};
}

Meta turned(Meta x) {
  x.shape = {x.shape[1], x.shape[0]};
  return x;
}
View turned(const View& x) { return {x.data, turned(x.meta), {x.strides[1], x.strides[0]}}; }

int64_t weight_grad_workspace(const Call& call) {
  return std::max(workspace_bytes(matmul_op, std::array{turned(call.in[0].meta), call.in[1].meta},
                                  out.first(1), {}),
                  sum_bytes(call.in[0].meta));
}

void weight_grad_cpu(const Call& call) {
  run(matmul_op, {turned(call.in[0]), call.in[1]}, call.out[0], {}, call.workspace);
  run(sum_op, {call.in[0]}, call.out[1], over_rows(), call.workspace);
}

// Of the product alone.
double linear_gelu_flops(std::span<const Meta> in, std::span<const Meta> out, const Attrs&) {
  return linear_op.flops(in, out.first(1), {});
}
double gelu_grad_flops(std::span<const Meta> in, std::span<const Meta> out, const Attrs&) {
  return matmul_op.flops(in.first(2), out.first(1), {});
}
double weight_grad_flops(std::span<const Meta> in, std::span<const Meta> out, const Attrs&) {
  return matmul_op.flops(std::array{turned(in[0]), in[1]}, out.first(1), {});
}

}  // namespace

constexpr OpDef linear_gelu_op{.name = "linear_gelu_tanh",
                               .infer = linear_gelu_infer,
                               .cpu = linear_gelu_cpu,
                               .cuda = linear_gelu_tanh_cuda,
                               .workspace = linear_gelu_workspace,
                               .cast = CastRule::low,
                               .flops = linear_gelu_flops};
constexpr OpDef gelu_grad_op{.name = "matmul_gelu_tanh_grad",
                             .infer = gelu_grad_infer,
                             .cpu = gelu_grad_cpu,
                             .cuda = matmul_gelu_tanh_grad_cuda,
                             .workspace = gelu_grad_workspace,
                             .cast = CastRule::low,
                             .flops = gelu_grad_flops};
constexpr OpDef weight_grad_op{.name = "linear_weight_grad",
                               .infer = weight_grad_infer,
                               .cpu = weight_grad_cpu,
                               .cuda = linear_weight_grad_cuda,
                               .workspace = weight_grad_workspace,
                               .cast = CastRule::low,
                               .flops = weight_grad_flops};

namespace {

// The rules, for types of 16 bits alone: how exact cuBLASLt's gelu_tanh is in f32 nobody says.
bool has_16_bits(const Operand& x) { return size_of(x.meta.dtype) == 2; }

bool is_dense_matrix(const Operand& x) { return x.meta.shape.rank() == 2 && is_dense(x); }

// Whether `in` is all of what an instruction wrote.
bool reads(const Operand& in, const Operand& out) {
  return in.buffer == out.buffer && in.offset == 0 && is_dense(in) &&
         count(in.meta.shape) == count(out.meta.shape) && in.meta.dtype == out.meta.dtype;
}

std::optional<Instruction> join_gelu(const Instruction& linear, const Instruction& gelu,
                                     bool kept) {
  const Operand& h = linear.out[0];
  if (!has_16_bits(h) || !reads(gelu.in[0], h)) return {};
  Operand y = h;
  y.buffer = gelu.out[0].buffer;
  std::vector<Operand> out{y};
  if (kept) out.push_back(h);
  return Instruction{&linear_gelu_op, EpilogueAttrs{.both = kept}, linear.in, out};
}

std::optional<Instruction> join_gelu_grad(const Instruction& product, const Instruction& grad,
                                          bool kept) {
  if (kept || !has_16_bits(product.out[0]) || !reads(grad.in[0], product.out[0]) ||
      !is_dense_matrix(product.in[0]) || !is_dense_matrix(product.in[1]) ||
      as_matrix(grad.out[0].meta).shape != product.out[0].meta.shape)
    return {};
  return Instruction{&gelu_grad_op,
                     EpilogueAttrs{.both = false},
                     {product.in[0], product.in[1], grad.in[1]},
                     {grad.out[0]}};
}

bool sums_rows(const Instruction& sum) {
  return is_dense_matrix(sum.in[0]) && sum.attrs.as<ReduceAttrs>().first == 0 &&
         sum.attrs.as<ReduceAttrs>().last == 1;
}

Operand as_row(const Operand& x) {
  Operand row = x;
  row.meta.shape = {count(x.meta.shape)};
  row.strides = {1};
  return row;
}

std::optional<Instruction> join_sums(const Instruction& grad, const Instruction& sum, bool) {
  if (grad.out.size() == 2 || !sums_rows(sum) || !reads(sum.in[0], grad.out[0]) ||
      sum.in[0].meta.shape != as_matrix(grad.out[0].meta).shape)
    return {};
  return Instruction{
      &gelu_grad_op, EpilogueAttrs{.both = true}, grad.in, {grad.out[0], as_row(sum.out[0])}};
}

std::optional<Instruction> join_row_sums(const Instruction& product, const Instruction& sum, bool) {
  const Operand &a = product.in[0], &dy = sum.in[0];
  if (!has_16_bits(a) || !sums_rows(sum) || !is_dense_matrix(product.in[1]) ||
      a.buffer != dy.buffer || a.offset != dy.offset || a.meta.dtype != dy.meta.dtype)
    return {};
  const int64_t rows = dy.meta.shape[0], columns = dy.meta.shape[1];
  if (a.meta.shape != Shape{columns, rows} || a.strides != Strides{1, columns}) return {};
  return Instruction{
      &weight_grad_op, {}, {dy, product.in[1]}, {product.out[0], as_row(sum.out[0])}};
}

constexpr EpilogueRule rules[] = {{&linear_op, &Gelu::op, join_gelu},
                                  {&matmul_op, &Gelu::grad, join_gelu_grad},
                                  {&gelu_grad_op, &sum_op, join_sums},
                                  {&matmul_op, &sum_op, join_row_sums}};

}  // namespace

std::span<const EpilogueRule> epilogue_rules() { return rules; }

std::array<Tensor, 2> linear_gelu_tanh(const Tensor& x, const Tensor& w, const Tensor& bias,
                                       EpilogueAttrs attrs) {
  std::vector<Tensor> inputs{contiguous(x), contiguous(w)};
  if (bias.defined()) inputs.push_back(contiguous(bias));
  const std::vector<Tensor> out = apply(linear_gelu_op, inputs, attrs);
  return {out[0], attrs.both ? out[1] : Tensor()};
}

std::array<Tensor, 2> matmul_gelu_tanh_grad(const Tensor& dy, const Tensor& w, const Tensor& h,
                                            EpilogueAttrs attrs) {
  const std::vector<Tensor> out =
      apply(gelu_grad_op, {contiguous(dy), contiguous(w), contiguous(h)}, attrs);
  return {out[0], attrs.both ? out[1] : Tensor()};
}

std::array<Tensor, 2> linear_weight_grad(const Tensor& dy, const Tensor& x) {
  const std::vector<Tensor> out = apply(weight_grad_op, {contiguous(dy), contiguous(x)});
  return {out[0], out[1]};
}

}  // namespace plimsoll
