#include "optim/eight_bit.h"

#include "ops/common/expect.h"
#include "ops/update/adam8_update/adam8_update.h"
#include "ops/update/sgd8_update/sgd8_update.h"

namespace plimsoll::optim {
namespace {

// Codes and scales for each of so many numbers, or the numbers and no scales.
SlotMetas coded_slots(const char* name, int count_of_slots, int64_t smallest) {
  check<ValueError>(smallest >= 0, name,
                    ": the smallest parameter in 8 bits is below 0 elements: ", smallest,
                    ". Use 0 for all.");
  return [=](const Meta& parameter) {
    const int64_t n = count(parameter.shape);
    const bool coded = n >= smallest;
    Metas metas;
    for (int k = 0; k < count_of_slots; ++k) {
      metas.push_back(
          {parameter.shape, coded ? DType::u8 : compute_dtype(parameter.dtype), parameter.device});
      metas.push_back({{coded ? coded_blocks(n) : 0}, DType::f32, parameter.device});
    }
    return metas;
  };
}

bool is_coded(const ParameterUpdate& u) { return u.slots[0].dtype() == DType::u8; }

Rule adamw_rule(const AdamW8bitOptions& o) {
  const AdamUpdate same{o.beta1, o.beta2, o.eps, o.weight_decay, true};
  check_options("adamw8bit", same);
  return [same, seed = o.rounding_seed](const ParameterUpdate& u) {
    AdamUpdate options = same;
    options.rounding = rounding_key(seed, u.number);
    if (is_coded(u))
      adam8_update(u.param, u.grad, {u.slots[0], u.slots[1]}, {u.slots[2], u.slots[3]}, u.steps,
                   u.learning_rate, options, u.skip);
    else
      adam_update(u.param, u.grad, u.slots[0], u.slots[2], u.steps, u.learning_rate, options, {},
                  u.skip);
  };
}

Rule sgd_rule(const SGD8bitOptions& o) {
  const SgdUpdate same{o.momentum, o.damping, o.nesterov, o.weight_decay};
  check_options("sgd8bit", same);
  check<ValueError>(o.momentum != 0, "sgd8bit: there is no momentum to keep: 0. Use SGD.");
  return [same, seed = o.rounding_seed](const ParameterUpdate& u) {
    SgdUpdate options = same;
    options.rounding = rounding_key(seed, u.number);
    if (is_coded(u))
      sgd8_update(u.param, u.grad, {u.slots[0], u.slots[1]}, u.steps, u.learning_rate, options,
                  u.skip);
    else
      sgd_update(u.param, u.grad, u.slots[0], u.steps, u.learning_rate, options, u.skip);
  };
}

}  // namespace

AdamW8bit::AdamW8bit(std::vector<Tensor> parameters, const AdamW8bitOptions& o)
    : Optimizer(std::move(parameters), o.learning_rate,
                {"first_moment", "first_scales", "second_moment", "second_scales"}, adamw_rule(o),
                Reads::whole_parameter, coded_slots("adamw8bit", 2, o.smallest)) {}

SGD8bit::SGD8bit(std::vector<Tensor> parameters, const SGD8bitOptions& o)
    : Optimizer(std::move(parameters), o.learning_rate, {"velocity", "velocity_scales"},
                sgd_rule(o), Reads::whole_parameter, coded_slots("sgd8bit", 1, o.smallest)) {}

}  // namespace plimsoll::optim
