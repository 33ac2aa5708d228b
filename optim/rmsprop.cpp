#include "optim/rmsprop.h"

#include "ops/update/adagrad_update/adagrad_update.h"
#include "ops/update/rmsprop_update/rmsprop_update.h"

namespace plimsoll::optim {
namespace {

std::vector<std::string> rmsprop_slots(const RMSpropOptions& o) {
  std::vector<std::string> slots{"mean_square"};
  if (o.centred) slots.push_back("mean");
  if (o.momentum != 0) slots.push_back("velocity");
  return slots;
}

Rule rmsprop_rule(const RMSpropOptions& o) {
  const RmspropUpdate options{o.alpha, o.eps, o.momentum, o.centred, o.weight_decay};
  check_options("rmsprop", options);
  return [options](const ParameterUpdate& u) {
    RmspropState state{u.slots[0]};
    if (options.centred) state.mean = u.slots[1];
    if (options.momentum != 0) state.velocity = u.slots.back();
    rmsprop_update(u.param, u.grad, state, u.steps, u.learning_rate, options, u.skip);
  };
}

Rule adagrad_rule(const AdagradOptions& o) {
  const AdagradUpdate options{o.lr_decay, o.eps, o.weight_decay};
  check_options("adagrad", options);
  return [options](const ParameterUpdate& u) {
    adagrad_update(u.param, u.grad, u.slots[0], u.steps, u.learning_rate, options, u.skip);
  };
}

}  // namespace

RMSprop::RMSprop(std::vector<Tensor> parameters, const RMSpropOptions& o)
    : Optimizer(std::move(parameters), o.learning_rate, rmsprop_slots(o), rmsprop_rule(o),
                Reads::own_element) {}

Adagrad::Adagrad(std::vector<Tensor> parameters, const AdagradOptions& o)
    : Optimizer(std::move(parameters), o.learning_rate, {"sum_of_squares"}, adagrad_rule(o),
                Reads::own_element) {}

}  // namespace plimsoll::optim
