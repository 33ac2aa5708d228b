#include "optim/adam.h"

#include "ops/adam_update/adam_update.h"

namespace plimsoll::optim {
namespace {

const std::vector<std::string> kSlots{"first_moment", "second_moment"};

Rule rule(const char* name, const AdamUpdate& update) {
  const auto is_share = [](double beta) { return beta >= 0 && beta < 1; };
  check<ValueError>(is_share(update.beta1) && is_share(update.beta2), name,
                    ": a beta is out of range: ", update.beta1, " and ", update.beta2,
                    ". Use 0 <= beta < 1.");
  check<ValueError>(update.eps >= 0 && update.weight_decay >= 0, name,
                    ": an option is negative: eps ", update.eps, ", weight_decay ",
                    update.weight_decay, ". Use numbers from 0.");
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
