#include "optim/sgd.h"

#include "ops/sgd_update/sgd_update.h"

namespace plimsoll::optim {
namespace {

std::vector<std::string> slots(const SgdOptions& o) {
  check<ValueError>(o.momentum >= 0 && o.weight_decay >= 0, "sgd: an option is negative: momentum ",
                    o.momentum, ", weight_decay ", o.weight_decay, ". Use numbers from 0.");
  check<ValueError>(!o.nesterov || o.momentum > 0, "sgd: nesterov needs momentum: got momentum ",
                    o.momentum, ". Set momentum, to 0.9 for example.");
  if (o.momentum == 0) return {};
  return {"velocity"};
}

Rule rule(const SgdOptions& o) {
  const SgdUpdate update{o.momentum, o.nesterov, o.weight_decay};
  return [update](const Turn& t) {
    const Tensor velocity = t.slots.empty() ? Tensor() : t.slots[0];
    sgd_update(t.param, t.grad, velocity, t.learning_rate, update);
  };
}

}  // namespace

SGD::SGD(std::vector<Tensor> parameters, const SgdOptions& options)
    : Optimizer(std::move(parameters), options.learning_rate, slots(options), rule(options)) {}

}  // namespace plimsoll::optim
