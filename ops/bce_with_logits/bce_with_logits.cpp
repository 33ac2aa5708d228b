#include "ops/bce_with_logits/bce_with_logits.h"

#include "core/math.h"
#include "ops/arithmetic/arithmetic.h"
#include "ops/copy/copy.h"
#include "ops/expect.h"
#include "ops/math/math.h"
#include "ops/pointwise_loss.h"
#include "ops/softplus/softplus.h"

namespace plimsoll {
namespace {

// -t log sigmoid(x) - (1 - t) log sigmoid(-x) = max(x, 0) - x t + log(1 + e^-|x|)
struct Bce {
  static constexpr const char *name = "bce_with_logits", *dx_name = "bce_with_logits_dx",
                              *dt_name = "bce_with_logits_dt";
  template <class T>
  static T f(T x, T t, T) {
    return ((x > 0 ? x : T(0)) - x * t) + math::log_one_plus(math::exp(x < 0 ? x : -x));
  }
  template <class T>
  static T dx(T x, T t, T) {
    return math::sigmoid(x) - t;
  }
  template <class T>
  static T dt(T x, T, T) {
    return -x;
  }
};

// A weight in the type of the losses.
Tensor fitting(const Tensor& weight, const Tensor& x) {
  check<ShapeError>(broadcast("bce_with_logits", x.shape(), weight.shape()) == x.shape(),
                    "bce_with_logits: the weights do not fit: ", weight.shape(), " for logits ",
                    x.shape(), ". Give weights that broadcast to the logits.");
  return cast(weight, loss_dtype(x.dtype()));
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
    map_triples<T, T, T, T>(call, [](auto x, auto t, auto p) {
      const auto rest = math::log_one_plus(math::exp(x < 0 ? x : -x));
      const auto yes = (x < 0 ? -x : 0) + rest, no = (x > 0 ? x : 0) + rest;
      return p * t * yes + (1 - t) * no;
    });
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
                            .vjp = weighted_vjp,
                            .saves = {.inputs = bits(0, 1, 2)},
                            .inplace = 0,
                            .strided = everything};

Tensor weighted(const Tensor& x, const Tensor& target, const Tensor& pos_weight) {
  check_loss(Bce::name, x.meta(), target.meta());
  const DType dtype = loss_dtype(x.dtype());
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

extern const std::vector<const OpDef*> bce_with_logits_ops;
const std::vector<const OpDef*> bce_with_logits_ops{&PointwiseLoss<Bce>::op,
                                                    &PointwiseLoss<Bce>::grad<0>,
                                                    &PointwiseLoss<Bce>::grad<1>, &weighted_op};

}  // namespace plimsoll
