#include "ops/rmsprop_update/rmsprop_update.h"

#include "ops/update.h"

namespace plimsoll {
namespace {

// The state after `square` is mean and velocity, as far as they are kept.
template <class C, bool kCentred, bool kMomentum>
struct RmspropStep {
  C rate, alpha, rest, eps, momentum, l2;

  RmspropStep(const RmspropUpdate& o, double lr, double)
      : rate(static_cast<C>(lr)),
        alpha(static_cast<C>(o.alpha)),
        rest(static_cast<C>(1 - o.alpha)),
        eps(static_cast<C>(o.eps)),
        momentum(static_cast<C>(o.momentum)),
        l2(static_cast<C>(o.weight_decay)) {}

  C operator()(C p, C grad, C& square) const { return step(p, grad, square, square, square); }
  C operator()(C p, C grad, C& square, C& other) const {
    return step(p, grad, square, other, other);
  }
  C operator()(C p, C grad, C& square, C& mean, C& velocity) const {
    return step(p, grad, square, mean, velocity);
  }

  C step(C p, C grad, C& square, [[maybe_unused]] C& mean, [[maybe_unused]] C& velocity) const {
    const C g = grad + l2 * p;
    square = alpha * square + rest * g * g;
    C variance = square;
    if constexpr (kCentred) {
      mean = alpha * mean + rest * g;
      // Rounded, the difference may fall below 0 where gradients hardly change.
      variance = std::max(variance - mean * mean, C(0));
    }
    C d = g / (std::sqrt(variance) + eps);
    if constexpr (kMomentum) d = velocity = momentum * velocity + d;
    return p - rate * d;
  }
};

template <bool kCentred, bool kMomentum>
struct Rmsprop {
  static constexpr const char* name = "rmsprop_update";
  static constexpr auto slots = [] {
    if constexpr (kCentred && kMomentum)
      return std::array{"mean square", "mean", "velocity"};
    else if constexpr (kCentred)
      return std::array{"mean square", "mean"};
    else if constexpr (kMomentum)
      return std::array{"mean square", "velocity"};
    else
      return std::array{"mean square"};
  }();
  using Options = RmspropUpdate;
  template <class C>
  using Step = RmspropStep<C, kCentred, kMomentum>;
};

void check_given(const char* what, bool given, bool wanted) {
  check<ValueError>(given == wanted, "rmsprop_update: ", what,
                    given ? ": it is given" : ": it is missing",
                    ". Pass it exactly when the option is on.");
}

}  // namespace

void check_options(const char* op, const RmspropUpdate& o) {
  check_share(op, "alpha", o.alpha);
  check_number(op, "eps", o.eps);
  check_number(op, "momentum", o.momentum);
  check_number(op, "weight_decay", o.weight_decay);
}

void rmsprop_update(const Tensor& param, const Tensor& grad, const RmspropState& state,
                    const Tensor& step, const Tensor& lr, const RmspropUpdate& options,
                    const Tensor& skip) {
  const auto& [square, mean, velocity] = state;
  const bool momentum = options.momentum != 0;
  check_given("mean goes with centred", mean.defined(), options.centred);
  check_given("velocity goes with momentum", velocity.defined(), momentum);
  if (options.centred && momentum)
    update<Rmsprop<true, true>>(param, grad, step, lr, options, skip, square, mean, velocity);
  else if (options.centred)
    update<Rmsprop<true, false>>(param, grad, step, lr, options, skip, square, mean);
  else if (momentum)
    update<Rmsprop<false, true>>(param, grad, step, lr, options, skip, square, velocity);
  else
    update<Rmsprop<false, false>>(param, grad, step, lr, options, skip, square);
}

extern const std::vector<const OpDef*> rmsprop_update_ops;
const std::vector<const OpDef*> rmsprop_update_ops{
    &Update<Rmsprop<false, false>>::op, &Update<Rmsprop<false, true>>::op,
    &Update<Rmsprop<true, false>>::op, &Update<Rmsprop<true, true>>::op};

}  // namespace plimsoll
