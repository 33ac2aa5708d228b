#include "optim/adam.h"

#include "ops/update/adam_update/adam_update.h"
#include "ops/update/adamax_update/adamax_update.h"
#include "ops/update/nadam_update/nadam_update.h"
#include "ops/update/radam_update/radam_update.h"

namespace plimsoll::optim {
namespace {

const std::vector<std::string> kSlots{"first_moment", "second_moment"};

std::vector<std::string> adam_slots(bool amsgrad) {
  std::vector<std::string> slots = kSlots;
  if (amsgrad) slots.push_back("highest_moment");
  return slots;
}

Rule adam_rule(const char* name, const AdamUpdate& o, uint64_t rounding_seed = 0) {
  check_options(name, o);
  return [=](const ParameterUpdate& u) {
    AdamUpdate options = o;
    options.rounding = rounding_key(rounding_seed, u.number);
    const Tensor highest = u.slots.size() > 2 ? u.slots[2] : Tensor();
    adam_update(u.param, u.grad, u.slots[0], u.slots[1], u.steps, u.learning_rate, options, highest,
                u.skip);
  };
}

// A rule of two slots: `update` is the op.
template <class Options, class Update>
Rule rule(const char* name, const Options& options, Update update) {
  check_options(name, options);
  return [=](const ParameterUpdate& u) {
    update(u.param, u.grad, u.slots[0], u.slots[1], u.steps, u.learning_rate, options, u.skip);
  };
}

}  // namespace

Adam::Adam(std::vector<Tensor> parameters, const AdamOptions& o)
    : Optimizer(std::move(parameters), o.learning_rate, adam_slots(o.amsgrad),
                adam_rule("adam", {o.beta1, o.beta2, o.eps, o.weight_decay, false}),
                Reads::own_element) {}

AdamW::AdamW(std::vector<Tensor> parameters, const AdamWOptions& o)
    : Optimizer(
          std::move(parameters), o.learning_rate, adam_slots(o.amsgrad),
          adam_rule("adamw", {o.beta1, o.beta2, o.eps, o.weight_decay, true}, o.rounding_seed),
          reads_with(o.rounding_seed)) {}

Adamax::Adamax(std::vector<Tensor> parameters, const AdamaxOptions& o)
    : Optimizer(
          std::move(parameters), o.learning_rate, {"first_moment", "largest_gradient"},
          rule("adamax", AdamaxUpdate{o.beta1, o.beta2, o.eps, o.weight_decay}, adamax_update),
          Reads::own_element) {}

NAdam::NAdam(std::vector<Tensor> parameters, const NAdamOptions& o)
    : Optimizer(
          std::move(parameters), o.learning_rate, kSlots,
          rule("nadam", NadamUpdate{o.beta1, o.beta2, o.eps, o.momentum_decay, o.weight_decay},
               nadam_update),
          Reads::own_element) {}

RAdam::RAdam(std::vector<Tensor> parameters, const RAdamOptions& o)
    : Optimizer(std::move(parameters), o.learning_rate, kSlots,
                rule("radam", RadamUpdate{o.beta1, o.beta2, o.eps, o.weight_decay}, radam_update),
                Reads::own_element) {}

}  // namespace plimsoll::optim
