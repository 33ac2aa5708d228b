#include "optim/sgd.h"

#include "ops/update/sgd_update/sgd_update.h"

namespace plimsoll::optim {
namespace {

std::vector<std::string> sgd_slots(const SgdOptions& o) {
  if (o.momentum == 0) return {};
  return {"velocity"};
}

Rule rule(const SgdOptions& o) {
  const SgdUpdate update{o.momentum, o.damping, o.nesterov, o.weight_decay};
  check_options("sgd", update);
  return [update](const ParameterUpdate& u) {
    const Tensor velocity = u.slots.empty() ? Tensor() : u.slots[0];
    sgd_update(u.param, u.grad, velocity, u.steps, u.learning_rate, update, u.skip);
  };
}

}  // namespace

SGD::SGD(std::vector<Tensor> parameters, const SgdOptions& options)
    : Optimizer(std::move(parameters), options.learning_rate, sgd_slots(options), rule(options),
                Reads::own_element) {}

}  // namespace plimsoll::optim
