// Attention and small blocks. Heads come second in PyTorch and third in the engine.
#include <cmath>

#include "tests/foreign/pytorch/pytorch.h"

namespace plimsoll::golden {
namespace {

Tensor swap_heads(const Tensor& x) { return permute(x, {0, 2, 1, 3}); }

// [.., T, D] -> [B, T, H, D]: axes in front are heads, then batches; missing ones are 1.
Tensor with_heads(const Tensor& x) {
  check<Unsupported>(x.rank() >= 2 && x.rank() <= 4, "attention over ", x.rank(), " axes");
  Shape shape;
  for (int i = x.rank(); i < 4; ++i) shape.push_back(1);
  for (const int64_t size : x.shape()) shape.push_back(size);
  return swap_heads(reshape(x, shape));
}

Results attended(Case& c) {
  const Tensor q = with_heads(c["q|query"]), k = with_heads(c["k|key"]),
               v = with_heads(c["v|value"]);
  const bool masked = c.given("m|mask|attn_mask|bias");
  AttentionAttrs attrs{.causal =
                           masked ? c.has("causal|is_causal") && c.flag("causal|is_causal", false)
                                  : c.flag("causal|is_causal", false)};
  const double width = static_cast<double>(q.size(3));
  attrs.scale = c.number("scale", {1 / std::sqrt(width), 1, 1 / width, 0.5, 0.1});
  c.known("enable_gqa|gqa|groups|heads|kv_heads|n_heads|n_kv_heads|num_kv_heads|dropout_p");
  AttentionExtras extras;
  if (masked) {
    const Tensor mask = c["m|mask|attn_mask|bias"];
    extras.mask = is_floating(mask.dtype()) ? mask : cast(mask, DType::boolean);
  }
  return one(reshape(swap_heads(attention(q, k, v, attrs, extras).out), c.result().shape()));
}

// x + attention(norm(x)), then x + mlp(norm(x)), with one product for q, k and v.
Results gpt2_block(Case& c) {
  const Tensor x = c["x"];
  const int64_t batch = x.size(0), time = x.size(1), width = x.size(2);
  const int64_t heads = c.integer("heads|n_head|num_heads", {2, 1, 4});
  const bool causal = c.flag("causal", true);
  const std::string how = c.text("gelu|approximate", {"tanh", "none"});
  const auto norm = [&](const char* gamma, const char* beta) {
    return std::pair{c.gain(gamma, width, 1), c.gain(beta, width, 0)};
  };
  const auto [gamma1, beta1] = norm("l1w", "l1b");
  const auto [gamma2, beta2] = norm("l2w", "l2b");
  const Tensor qkv = reshape(linear(layer_norm(x, gamma1, beta1), c["aw"], c.optional("ab")),
                             {batch, time, 3 * heads, width / heads});
  const auto [q, k, v] = split_into<3>(qkv, 2);
  const Tensor mixed = reshape(attention(q, k, v, {.causal = causal}).out, {batch, time, width});
  const Tensor middle = x + linear(mixed, c["pw"], c.optional("pb"));
  const Tensor h = linear(layer_norm(middle, gamma2, beta2), c["fw"], c.optional("fb"));
  return one(middle + linear(how == "tanh" ? gelu_tanh(h) : gelu(h), c["gw"], c.optional("gb")));
}

// relu(two convolutions with batch norm + the image, or a convolution of it with batch norm)
Results resnet_block(Case& c) {
  const Tensor x = channels_last(c["x"]);
  const int64_t stride = c.integer("stride", {c.given("ws") ? 2 : 1, 1, 2});
  const auto conv_norm = [&](const Tensor& image, const char* w, const char* gamma,
                             const char* beta, const Conv2dAttrs& attrs) {
    const Tensor y = conv2d(image, channels_last(c[w]), attrs);
    return batch_norm(y, c.gain(gamma, y.size(3), 1), c.gain(beta, y.size(3), 0)).y;
  };
  Tensor y = relu(conv_norm(x, "w1", "g1", "b1", {.stride = stride, .padding = 1}));
  y = conv_norm(y, "w2", "g2", "b2", {.padding = 1});
  const Tensor skipped = c.given("ws") ? conv_norm(x, "ws", "gs", "bs", {.stride = stride}) : x;
  return one(channels_first(relu(y + skipped)));
}

// torch.nn.MultiheadAttention of one sequence with itself, batch first.
Results many_heads(Case& c) {
  const Tensor x = c["x|query|q"];
  const int64_t batch = x.size(0), time = x.size(1), width = x.size(2);
  const int64_t heads = c.integer("heads|num_heads|n_head", {2, 1, 4});
  const bool causal = c.flag("causal|is_causal", false);
  const Tensor qkv = reshape(
      linear(x, c["in_proj_weight|iw|wi|aw|wqkv"], c.optional("in_proj_bias|ib|bi|ab|bqkv")),
      {batch, time, 3 * heads, width / heads});
  const auto [q, k, v] = split_into<3>(qkv, 2);
  const Tensor mixed = reshape(attention(q, k, v, {.causal = causal}).out, {batch, time, width});
  return one(linear(mixed, c["out_proj.weight|out_proj_weight|ow|wo|pw"],
                    c.optional("out_proj.bias|out_proj_bias|ob|bo|pb")));
}

}  // namespace

Table block_table() {
  return {{"sdpa", attended},
          {"scaled_dot_product_attention", attended},
          {"attention", attended},
          {"gpt2_block", gpt2_block},
          {"resnet_block", resnet_block},
          {"mha", many_heads},
          {"multihead_attention", many_heads}};
}

}  // namespace plimsoll::golden
