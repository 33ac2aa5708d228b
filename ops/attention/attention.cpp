#include "ops/attention/attention.h"

#include "core/apply.h"
#include "ops/attention/kernels.h"
#include "ops/copy/copy.h"
#include "ops/full/full.h"

namespace plimsoll {
namespace {

using attention_detail::Sizes;

// Inputs: q [B, T, H, D], k and v [B, S, H, D]. Outputs: out [B, T, H, D], log_sum_exp [B, H, T].
Metas attention_infer(std::span<const Meta> in, const Attrs& attrs) {
  const Shape &q = in[0].shape, &k = in[1].shape, &v = in[2].shape;
  const DType dtype = in[0].dtype;
  check<DTypeError>(is_floating(dtype) && in[1].dtype == dtype && in[2].dtype == dtype,
                    "attention: q, k and v of one floating type are needed: got ", dtype, ", ",
                    in[1].dtype, " and ", in[2].dtype, ". Cast them.");
  check<ShapeError>(q.rank() == 4 && k.rank() == 4, "attention: four axes are needed: q ", q,
                    " and k ", k, ". Reshape to [batch, length, heads, features].");
  check<ShapeError>(k == v && q[0] == k[0] && q[2] == k[2] && q[3] == k[3],
                    "attention: the sizes differ: q ", q, ", k ", k, " and v ", v,
                    ". k and v must be equal, and agree with q but for the length.");
  check<ShapeError>(q[3] >= 1, "attention: the heads have no features: q ", q,
                    ". Give the last axis at least one.");
  const double scale = attrs.as<AttentionAttrs>().scale;
  check<ValueError>(scale >= 0 && std::isfinite(scale),
                    "attention: the scale is no positive number: ", scale,
                    ". Leave it at 0 for 1 / sqrt(D).");
  const DType wide = dtype == DType::f64 ? DType::f64 : DType::f32;
  return {in[0], {{q[0], q[2], q[1]}, wide, in[0].device}};
}

Sizes sizes_of(const Shape& q, const Shape& k, const Attrs& attrs) {
  const auto& [causal, scale] = attrs.as<AttentionAttrs>();
  return {.batch = q[0],
          .queries = q[1],
          .keys = k[1],
          .heads = q[2],
          .features = q[3],
          .causal = causal,
          .scale = scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(q[3]))};
}

void attention_cpu(const Call& call) {
  attention_detail::forward(call, sizes_of(call.in[0].shape(), call.in[1].shape(), call.attrs));
}

int64_t attention_workspace(std::span<const Meta> in, std::span<const Meta>, const Attrs& attrs) {
  return attention_detail::forward_workspace(sizes_of(in[0].shape, in[1].shape, attrs),
                                             in[0].dtype);
}

// Inputs: q, k, v, out, log_sum_exp, the gradient of out, perhaps that of log_sum_exp. Outputs: the
// gradients of q, k and v.
Metas grad_infer(std::span<const Meta> in, const Attrs&) { return {in[0], in[1], in[2]}; }

void grad_cpu(const Call& call) {
  attention_detail::backward(call, sizes_of(call.in[0].shape(), call.in[1].shape(), call.attrs));
}

int64_t grad_workspace(std::span<const Meta> in, std::span<const Meta>, const Attrs& attrs) {
  return attention_detail::backward_workspace(sizes_of(in[0].shape, in[1].shape, attrs),
                                              in[0].dtype);
}

constexpr OpDef grad_op{.name = "attention_grad",
                        .infer = grad_infer,
                        .cpu = grad_cpu,
                        .strided = bits(0, 1, 2),
                        .workspace = grad_workspace};

std::vector<Tensor> attention_vjp(const Backward& b) {
  const Meta& out = b.output_meta(0);
  const Tensor dout =
      b.grad(0).defined() ? contiguous(b.grad(0)) : zeros(out.shape, {out.dtype, out.device});
  std::vector<Tensor> in{b.input(0), b.input(1), b.input(2), b.output(0), b.output(1), dout};
  if (b.grad(1).defined()) in.push_back(contiguous(b.grad(1)));
  return apply(grad_op, in, b.attrs<AttentionAttrs>());
}

constexpr OpDef attention_op{.name = "attention",
                             .infer = attention_infer,
                             .cpu = attention_cpu,
                             .vjp = attention_vjp,
                             .saves = {.inputs = bits(0, 1, 2), .outputs = bits(0, 1)},
                             .strided = bits(0, 1, 2),
                             .workspace = attention_workspace};

// The kernels walk over rows of neighbouring elements; anything else is copied first.
Tensor with_dense_rows(const Tensor& x) {
  const bool dense = !x.defined() || x.rank() == 0 || x.shape().back() <= 1 ||
                     x.value().strides[x.rank() - 1] == 1;
  return dense ? x : contiguous(x);
}

}  // namespace

AttentionResult attention(const Tensor& q, const Tensor& k, const Tensor& v,
                          const AttentionAttrs& attrs) {
  const std::vector<Tensor> results =
      apply(attention_op, {with_dense_rows(q), with_dense_rows(k), with_dense_rows(v)}, attrs);
  return {results[0], results[1]};
}

extern const std::vector<const OpDef*> attention_ops;
const std::vector<const OpDef*> attention_ops{&attention_op, &grad_op};

}  // namespace plimsoll
