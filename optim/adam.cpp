#include "optim/adam.h"

#include "ops/adam_update/adam_update.h"

namespace plimsoll::optim {
namespace {

const std::vector<std::string> kSlots{"first_moment", "second_moment"};

Rule rule(const char* name, const AdamUpdate& update) {
  check_options(name, update);
  return [update](const Turn& t) {
    adam_update(t.param, t.grad, t.slots[0], t.slots[1], t.steps, t.learning_rate, update);
  };
}

}  // namespace

Adam::Adam(std::vector<Tensor> parameters, const AdamOptions& o)
    : Optimizer(std::move(parameters), o.learning_rate, kSlots,
                rule("adam", {o.beta1, o.beta2, o.eps, o.weight_decay, false})) {}

AdamW::AdamW(std::vector<Tensor> parameters, const AdamWOptions& o)
    : Optimizer(std::move(parameters), o.learning_rate, kSlots,
                rule("adamw", {o.beta1, o.beta2, o.eps, o.weight_decay, true})) {}

}  // namespace plimsoll::optim
