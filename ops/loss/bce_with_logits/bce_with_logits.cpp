#include "ops/loss/bce_with_logits/bce_with_logits.h"

#include "core/cuda/seam/cuda_kernel.h"
#include "ops/common/expect.h"
#include "ops/loss/bce_with_logits/formulas.h"
#include "ops/loss/common/pointwise_loss.h"
#include "ops/pointwise/arithmetic/arithmetic.h"
#include "ops/pointwise/copy/copy.h"
#include "ops/pointwise/math/math.h"
#include "ops/pointwise/softplus/softplus.h"

namespace plimsoll {

PLIMSOLL_CUDA_KERNEL(bce_with_logits_weighted_cuda);

using loss_formulas::Bce, loss_formulas::BceWeighted;

namespace {

// A weight in the type of the losses.
Tensor fitting(const Tensor& weight, const Tensor& x) {
  check<ShapeError>(broadcast("bce_with_logits", x.shape(), weight.shape()) == x.shape(),
                    "bce_with_logits: the weights do not fit: ", weight.shape(), " for logits ",
                    x.shape(), ". Give weights that broadcast to the logits.");
  return cast(weight, compute_dtype(x.dtype()));
}

// With a weight p for the answers yes: p t softplus(-x) + (1 - t) softplus(x), where softplus(x) =
// -log sigmoid(-x), so that no part is negative. One op, or x and t would each have two gradients,
// and the bits of their sum would depend on what else the tape adds between them.
// Inputs: x, t, p, which broadcasts to x.
Metas weighted_infer(std::span<const Meta> in, const Attrs&) {
  check_loss(Bce::name, in[0], in[1]);
  return {in[0]};
}

void weighted_cpu(const Call& call) {
  visit_floating(Bce::name, call.out[0].dtype(), [&]<class T>() {
    map_triples<T, T, T, T>(call, [](auto x, auto t, auto p) { return BceWeighted::f(x, t, p); });
  });
}

std::vector<Tensor> weighted_vjp(const Backward& b) {
  const Tensor &dy = b.grad(), x = b.input(0), t = b.input(1), p = b.input(2);
  Tensor dx, dt, dp;
  if (b.needs(0)) dx = dy * ((1 - t) * sigmoid(x) - p * t * sigmoid(-x));
  if (b.needs(1)) dt = dy * (p * softplus(-x) - softplus(x));
  if (b.needs(2)) dp = sum_to(dy * t * softplus(-x), p.shape());
  return {dx, dt, dp};
}

constexpr OpDef weighted_op{.name = "bce_with_logits_weighted",
                            .infer = weighted_infer,
                            .cpu = weighted_cpu,
                            .cuda = bce_with_logits_weighted_cuda,
                            .vjp = {.rule = weighted_vjp, .inputs = bits(0, 1, 2)},
                            .inplace = 0,
                            .strided = everything};

Tensor weighted(const Tensor& x, const Tensor& target, const Tensor& pos_weight) {
  check_loss(Bce::name, x.meta(), target.meta());
  const DType dtype = compute_dtype(x.dtype());
  return apply1(weighted_op, {cast(x, dtype), cast(target, dtype), fitting(pos_weight, x)});
}

}  // namespace

Tensor bce_with_logits(const Tensor& x, const Tensor& target, const BceOptions& options) {
  check_defined(Bce::name, x);
  check_defined(Bce::name, target);
  const std::vector<Tensor> in = autocast(CastRule::widest, {x, target});
  Tensor losses = options.pos_weight.defined() ? weighted(in[0], in[1], options.pos_weight)
                                               : PointwiseLoss<Bce>::apply(in[0], in[1]);
  if (options.weight.defined()) losses = losses * fitting(options.weight, x);
  return reduce(losses, options.reduction);
}

extern const std::vector<const OpDef*> bce_with_logits_ops{
    &PointwiseLoss<Bce>::op, &PointwiseLoss<Bce>::grad<0>, &PointwiseLoss<Bce>::grad<1>,
    &weighted_op};

}  // namespace plimsoll
