#include "ops/update/rmsprop_update/rmsprop_update.h"

#include "ops/common/update.h"
#include "ops/update/rmsprop_update/rule.h"

namespace plimsoll {

using namespace update_rules;

namespace {

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

extern const std::vector<const OpDef*> rmsprop_update_ops{
    &Update<Rmsprop<false, false>>::op, &Update<Rmsprop<false, true>>::op,
    &Update<Rmsprop<true, false>>::op, &Update<Rmsprop<true, true>>::op};

}  // namespace plimsoll
