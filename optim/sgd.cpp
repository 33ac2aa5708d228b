#include "optim/sgd.h"

#include "ops/update/sgd_update/sgd_update.h"

namespace plimsoll::optim {
namespace {

std::vector<std::string> sgd_slots(const SgdOptions& o) {
  if (o.momentum == 0) return {};
  return {"velocity"};
}

Rule rule(const SgdOptions& o) {
  const SgdUpdate options{o.momentum, o.damping, o.nesterov, o.weight_decay};
  check_options("sgd", options);
  return [options, seed = o.rounding_seed](const ParameterUpdate& u) {
    SgdUpdate update = options;
    update.rounding = rounding_key(seed, u.number);
    const Tensor velocity = u.slots.empty() ? Tensor() : u.slots[0];
    sgd_update(u.param, u.grad, velocity, u.steps, u.learning_rate, update, u.skip);
  };
}

}  // namespace

SGD::SGD(std::vector<Tensor> parameters, const SgdOptions& options)
    : Optimizer(std::move(parameters), options.learning_rate, sgd_slots(options), rule(options),
                reads_with(options.rounding_seed)) {}

}  // namespace plimsoll::optim
