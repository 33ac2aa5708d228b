#include "ops/attention/attention/attention.h"

#include "core/cuda/seam/cuda_kernel.h"
#include "core/engine/apply.h"
#include "ops/attention/attention/on_cuda.h"
#include "ops/common/expect.h"
#include "ops/pointwise/copy/copy.h"
#include "ops/random/full/full.h"
#include "ops/shape/view/view.h"

namespace plimsoll {

PLIMSOLL_CUDA_KERNEL(attention_cuda);
PLIMSOLL_CUDA_KERNEL(attention_grad_cuda);
PLIMSOLL_CUDA_KERNEL(attention_mask_grad_cuda);

namespace {

using attention_detail::Extras;
using attention_detail::Sizes;

// Attributes of the ops: which of the inputs that may be missing follow the others, in the order
// key (when dropout > 0), mask, segments, past, gradient of log_sum_exp.
struct CallAttrs {
  AttentionAttrs own;
  bool mask = false, segments = false, past = false, dlog_sum_exp = false;
  bool operator==(const CallAttrs&) const = default;
};

double scale_of(const AttentionAttrs& attrs, int64_t features) {
  return attrs.scale == 0 ? 1 / std::sqrt(static_cast<double>(features)) : attrs.scale;
}

void check_numbers(const AttentionAttrs& attrs, int64_t features) {
  // What scores are multiplied and divided by must be a number in f32 too.
  const auto is_positive = [](double value) {
    const float in_f32 = static_cast<float>(value);
    return in_f32 > 0 && std::isfinite(in_f32);
  };
  check<ValueError>(attrs.scale == 0 || is_positive(attrs.scale),
                    "attention: the scale is no positive number: ", attrs.scale,
                    ". Leave it at 0 for 1 / sqrt(D).");
  check<ValueError>(attrs.softcap == 0 || is_positive(attrs.softcap),
                    "attention: the softcap is no positive number: ", attrs.softcap,
                    ". Leave it at 0 for none.");
  const double scale = scale_of(attrs, features);
  check<ValueError>(attrs.softcap == 0 ||
                        is_positive(static_cast<float>(scale) / static_cast<float>(attrs.softcap)),
                    "attention: the scale by the softcap is no positive number: ", scale, " / ",
                    attrs.softcap, ". Leave the softcap at 0 for none.");
  check<ValueError>(attrs.dropout >= 0 && attrs.dropout < 1,
                    "attention: the share to drop is out of range: ", attrs.dropout,
                    ". Use 0 <= p < 1.");
  constexpr int64_t kWidest = int64_t{1} << 40;
  check<ValueError>(attrs.window >= 0 && attrs.window <= kWidest,
                    "attention: the window is out of range: ", attrs.window,
                    ". Use 1 key or more, or 0 for all.");
  check<ValueError>(attrs.window == 0 || attrs.causal,
                    "attention: a window is of causal attention: ", attrs.window,
                    " keys. Leave it at 0, or use causal.");
}

void check_mask(const Meta& mask, const Meta& q, int64_t keys) {
  check<DTypeError>(mask.dtype == DType::boolean || mask.dtype == q.dtype,
                    "attention: the mask is neither bool nor of q's type: got ", mask.dtype,
                    " for ", q.dtype, ". Cast it.");
  const Shape scores{q.shape[0], q.shape[2], q.shape[1], keys};
  for (int axis = 0; axis < 4; ++axis)
    check<ShapeError>(mask.shape[axis] == scores[axis] || mask.shape[axis] == 1,
                      "attention: the mask does not fit: ", mask.shape, " for scores ", scores,
                      ". Give each axis its size or 1.");
}

void check_segments(const Meta& segments, const Meta& q, int64_t keys, const CallAttrs& attrs) {
  check<DTypeError>(segments.dtype == DType::i64, "attention: the segments must be i64: got ",
                    segments, ". Cast them.");
  check<ShapeError>(segments.shape == Shape{q.shape[0], q.shape[1]} && q.shape[1] == keys,
                    "attention: the segments are not one for each position: ", segments.shape,
                    " for q ", q.shape, " and ", keys,
                    " keys. Give them the shape [batch, length].");
  check<ValueError>(!attrs.past && attrs.own.past == 0,
                    "attention: segments go with no past: ", attrs.own.past,
                    ". Read sequences that go on one by one.");
}

// Inputs: q [B, T, H, D], k [B, S, K, D], v [B, S, K, E], perhaps a key [2], a mask of rank 4,
// segments [B, T] and a past of one element.
// Outputs: out [B, T, H, E], log_sum_exp [B, H, T], and for the gradients Softmax [B, H, T, 2].
Metas attention_infer(std::span<const Meta> in, const Attrs& attrs) {
  const Shape &q = in[0].shape, &k = in[1].shape, &v = in[2].shape;
  const DType dtype = in[0].dtype;
  check<DTypeError>(is_floating(dtype) && in[1].dtype == dtype && in[2].dtype == dtype,
                    "attention: q, k and v of one floating type are needed: got ", dtype, ", ",
                    in[1].dtype, " and ", in[2].dtype, ". Cast them.");
  check<ShapeError>(q.rank() == 4 && k.rank() == 4 && v.rank() == 4,
                    "attention: four axes are needed: q ", q, ", k ", k, " and v ", v,
                    ". Reshape to [batch, length, heads, features].");
  check<ShapeError>(q[0] == k[0] && q[3] == k[3] && k[0] == v[0] && k[1] == v[1] && k[2] == v[2],
                    "attention: the sizes differ: q ", q, ", k ", k, " and v ", v,
                    ". k needs the batch and the features of q, v the batch, length and heads of "
                    "k.");
  check<ShapeError>(k[2] == q[2] || (k[2] > 0 && q[2] % k[2] == 0), "attention: ", k[2],
                    " heads of keys do not divide ", q[2], " heads of queries: q ", q, " and k ", k,
                    ". Give one head of keys for each group of queries.");
  check<ShapeError>(q[3] >= 1, "attention: the heads have no features: q ", q,
                    ". Give the last axis at least one.");
  const auto& [own, has_mask, has_segments, has_past, unused] = attrs.as<CallAttrs>();
  check_numbers(own, q[3]);
  const size_t mask = own.dropout > 0 ? 4 : 3;
  if (own.dropout > 0)
    check<DTypeError>(in[3].dtype == DType::i64 && in[3].shape == Shape{2},
                      "attention: the key must be i64 [2]: got ", in[3], ". Use make_key().");
  if (has_mask) check_mask(in[mask], in[0], k[1]);
  if (has_segments) check_segments(in[mask + has_mask], in[0], k[1], attrs.as<CallAttrs>());
  if (has_past)
    check<DTypeError>(in.back().dtype == DType::i64 && count(in.back().shape) == 1,
                      "attention: the past is not one number of i64: got ", in.back(),
                      ". Give the number of keys before the first query.");
  const DType wide = compute_dtype(dtype);
  return {{{q[0], q[1], q[2], v[3]}, dtype, in[0].device},
          {{q[0], q[2], q[1]}, wide, in[0].device},
          {{q[0], q[2], q[1], 2}, wide, in[0].device}};
}

Sizes sizes_of(const Shape& q, const Shape& k, const Shape& v, const Attrs& attrs) {
  const CallAttrs& call = attrs.as<CallAttrs>();
  Sizes sizes{.batch = q[0],
              .queries = q[1],
              .keys = k[1],
              .heads = q[2],
              .kv_heads = k[2],
              .features = q[3],
              .values = v[3],
              .attrs = call.own,
              .masked = call.mask,
              .segmented = call.segments};
  sizes.attrs.scale = scale_of(call.own, q[3]);
  sizes.attrs.past = sizes.clamped_past(call.own.past);
  return sizes;
}
Sizes sizes_of(std::span<const Meta> in, const Attrs& attrs) {
  return sizes_of(in[0].shape, in[1].shape, in[2].shape, attrs);
}

// Those from input `next` on.
Extras extras_of(const Call& call, size_t next) {
  const auto& [own, has_mask, has_segments, has_past, has_dlog_sum_exp] =
      call.attrs.as<CallAttrs>();
  Extras extras;
  if (own.dropout > 0) extras.key = &call.in[next++];
  if (has_mask) extras.mask = &call.in[next++];
  if (has_segments) extras.segments = &call.in[next++];
  if (has_past) extras.past = &call.in[next++];
  if (has_dlog_sum_exp) extras.dlog_sum_exp = &call.in[next];
  return extras;
}

// Inputs of both gradients: q, k, v, out, Softmax, the gradient of out, and those that may be
// missing. Outputs: the gradients of q, k and v, or that of the mask.
constexpr size_t kGradInputs = 6;

}  // namespace

namespace attention_detail {

Sizes sizes_of(const Call& call) {
  return plimsoll::sizes_of(call.in[0].shape(), call.in[1].shape(), call.in[2].shape(), call.attrs);
}
Sizes sizes_of(const Call& call, const Extras& extras) {
  Sizes sizes = sizes_of(call);
  if (extras.past) sizes.attrs.past = sizes.clamped_past(*extras.past->as<int64_t>());
  return sizes;
}
Extras extras_of(const Call& call) { return plimsoll::extras_of(call, 3); }
Extras extras_of_gradient(const Call& call) { return plimsoll::extras_of(call, kGradInputs); }

}  // namespace attention_detail

namespace {

// Blocks are cut where a sequence ends, so one that went on later would be seen in parts.
void check_rising(const View& segments) {
  const int64_t length = segments.shape()[1];
  const int64_t* id = segments.as<int64_t>();
  for (int64_t e = 1; e < count(segments.shape()); ++e)
    check<ValueError>(e % length == 0 || id[e] >= id[e - 1],
                      "attention: the segments of a row do not rise: ", id[e - 1], ", then ", id[e],
                      ". Count its sequences from 0.");
}

void attention_cpu(const Call& call) {
  const Extras extras = attention_detail::extras_of(call);
  if (extras.segments) check_rising(*extras.segments);
  attention_detail::forward(call, attention_detail::sizes_of(call, extras), extras);
}

int64_t on_cuda(const Call& call, bool gradient) {
  const auto& [own, mask, segments, past, dlog_sum_exp] = call.attrs.as<CallAttrs>();
  return attention_detail::cuda_bytes(call, attention_detail::sizes_of(call),
                                      mask || segments || past || dlog_sum_exp, gradient);
}

int64_t attention_workspace(const Call& call) {
  if (call.in[0].device() == Device::cuda) return on_cuda(call, false);
  return attention_detail::forward_workspace(attention_detail::sizes_of(call), call.in[0].dtype());
}

Metas grad_infer(std::span<const Meta> in, const Attrs&) { return {in[0], in[1], in[2]}; }

void grad_cpu(const Call& call) {
  const Extras extras = attention_detail::extras_of_gradient(call);
  attention_detail::backward(call, attention_detail::sizes_of(call, extras), extras);
}

int64_t grad_workspace(const Call& call) {
  if (call.in[0].device() == Device::cuda) return on_cuda(call, true);
  return attention_detail::backward_workspace(attention_detail::sizes_of(call), call.in[0].dtype());
}

Metas mask_grad_infer(std::span<const Meta> in, const Attrs& attrs) {
  return {in[kGradInputs + (attrs.as<CallAttrs>().own.dropout > 0)]};
}

void mask_grad_cpu(const Call& call) {
  const Extras extras = attention_detail::extras_of_gradient(call);
  attention_detail::mask_backward(call, attention_detail::sizes_of(call, extras), extras);
}

int64_t mask_grad_workspace(const Call& call) {
  if (call.in[0].device() == Device::cuda) return on_cuda(call, true);
  return attention_detail::mask_backward_workspace(attention_detail::sizes_of(call),
                                                   call.in[0].dtype(), call.out[0].shape());
}

// Two products of queries and keys forward, five backward; causal attention does half of them, and
// a window what it holds.
template <int kProducts>
double attention_flops(std::span<const Meta> in, std::span<const Meta>, const Attrs& attrs) {
  const Sizes s = sizes_of(in, attrs);
  const double seen = static_cast<double>(s.keys) * (s.attrs.causal ? 0.5 : 1);
  const double most = s.attrs.window > 0 ? static_cast<double>(s.attrs.window) : seen;
  return 2.0 * kProducts * static_cast<double>(s.batch * s.heads * s.queries) *
         static_cast<double>(s.features) * std::min(seen, most);
}

constexpr Bits kGradStrided = bits(0, 1, 2, kGradInputs, kGradInputs + 1);  // q, k, v, mask
constexpr OpDef grad_op{.name = "attention_grad",
                        .infer = grad_infer,
                        .cpu = grad_cpu,
                        .cuda = attention_grad_cuda,
                        .strided = kGradStrided,
                        .workspace = grad_workspace,
                        .flops = attention_flops<5>};
constexpr OpDef mask_grad_op{.name = "attention_mask_grad",
                             .infer = mask_grad_infer,
                             .cpu = mask_grad_cpu,
                             .cuda = attention_mask_grad_cuda,
                             .strided = kGradStrided,
                             .workspace = mask_grad_workspace,
                             .flops = attention_flops<3>};

std::vector<Tensor> attention_vjp(const Backward& b) {
  const Meta& out = b.output_meta(0);
  const Tensor dout =
      b.grad(0).defined() ? contiguous(b.grad(0)) : zeros(out.shape, {out.dtype, out.device});
  std::vector<Tensor> in{b.input(0), b.input(1), b.input(2), b.output(0), b.output(2), dout};
  for (int i = 3; i < b.inputs(); ++i) in.push_back(b.input(i));
  CallAttrs attrs = b.attrs<CallAttrs>();
  attrs.dlog_sum_exp = b.grad(1).defined();
  if (attrs.dlog_sum_exp) in.push_back(contiguous(b.grad(1)));

  std::vector<Tensor> grads(static_cast<size_t>(b.inputs()));
  const int mask = attrs.own.dropout > 0 ? 4 : 3;
  if (attrs.mask && b.needs(mask))
    grads[static_cast<size_t>(mask)] = apply(mask_grad_op, in, attrs)[0];
  if (b.needs(0) || b.needs(1) || b.needs(2))
    std::ranges::move(apply(grad_op, in, attrs), grads.begin());
  return grads;
}

constexpr OpDef attention_op{
    .name = "attention",
    .infer = attention_infer,
    .cpu = attention_cpu,
    .cuda = attention_cuda,
    .vjp = {.rule = attention_vjp, .inputs = bits(0, 1, 2, 3, 4, 5, 6), .outputs = bits(0, 2)},
    .strided = bits(0, 1, 2, 3, 4),
    .workspace = attention_workspace,
    .cast = CastRule::low,
    .flops = attention_flops<2>};

// The kernels walk over rows of neighbouring elements; anything else is copied first.
Tensor with_dense_rows(const Tensor& x) {
  const bool dense = !x.defined() || x.rank() == 0 || x.shape().back() <= 1 ||
                     x.value().strides[x.rank() - 1] == 1;
  return dense ? x : contiguous(x);
}

Tensor with_four_axes(const Tensor& mask) {
  check<ShapeError>(mask.rank() <= 4, "attention: the mask has more than four axes: ", mask.shape(),
                    ". Give what broadcasts to [batch, heads, queries, keys].");
  Shape shape;
  for (int axis = -4; axis < 0; ++axis)
    shape.push_back(-axis > mask.rank() ? 1 : mask.shape()[axis + mask.rank()]);
  return mask.shape() == shape ? mask : reshape(mask, shape);
}

}  // namespace

AttentionResult attention(const Tensor& q, const Tensor& k, const Tensor& v,
                          const AttentionAttrs& attrs, const AttentionExtras& extras) {
  std::vector<Tensor> in{with_dense_rows(q), with_dense_rows(k), with_dense_rows(v)};
  if (attrs.dropout > 0) {
    check<StateError>(extras.key.defined(),
                      "attention: dropout needs a key. Pass one from make_key().");
    in.push_back(contiguous(extras.key));
  }
  if (extras.mask.defined()) in.push_back(with_four_axes(extras.mask));
  if (extras.segments.defined()) in.push_back(contiguous(extras.segments));
  if (extras.past.defined()) in.push_back(contiguous(extras.past));
  const std::vector<Tensor> results = apply(attention_op, in,
                                            CallAttrs{.own = attrs,
                                                      .mask = extras.mask.defined(),
                                                      .segments = extras.segments.defined(),
                                                      .past = extras.past.defined()});
  return {results[0], results[1]};
}

extern const std::vector<const OpDef*> attention_ops{&attention_op, &grad_op, &mask_grad_op};

}  // namespace plimsoll
