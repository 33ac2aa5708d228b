// Optimizer: parameters, what is remembered about each of them, and the rule that changes them.
//
//   optim::AdamW optimizer(model.parameters(), {.learning_rate = 3e-4});
//   for (int64_t step = 0; step < steps; ++step) {
//     optimizer.set_learning_rate(schedule(optimizer.steps_made()));
//     Tensor loss = cross_entropy(model(x), y);
//     optimizer.update(gradients(loss, model.parameters()));
//   }
//
// The learning rate and the step count are tensors, so a captured step (memory/step/step.h) reads
// their current values at every replay. update() consists of ops alone and is captured like the
// rest.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/tensor/tensor.h"

namespace plimsoll::optim {

// What a rule is given to update one parameter: it changes `param` in place. `slots` is its state,
// one tensor for each name that the optimizer was made with; `steps` counts this step already: the
// first is 1.
struct ParameterUpdate {
  const Tensor& param;
  const Tensor& grad;
  std::span<const Tensor> slots;
  const Tensor& learning_rate;  // f64 []
  const Tensor& steps;          // i64 []
  const Tensor& skip;           // bool []: where true, change nothing; undefined: never
  size_t number;                // of the parameter among all of the optimizer
};
using Rule = std::function<void(const ParameterUpdate&)>;
// The slots of a parameter, in the order of their names.
using SlotMetas = std::function<Metas(const Meta& parameter)>;
// What a rule reads to change an element: of param, grad and slots that element alone, or more, as
// the norm of all of them. Only the former can be shared out among ranks (optim/ranks/shards.h).
enum class Reads { own_element, whole_parameter };

// What bf16 parameters are rounded at random by (ops/common/random_rounding.h): a key for each
// parameter, from a seed that is not 0; 0 for 0, which stands for rounding to the nearest. The
// random bits are those of an element's place, so a rule that has a seed reads whole parameters.
uint64_t rounding_key(uint64_t seed, size_t parameter);
inline Reads reads_with(uint64_t rounding_seed) {
  return rounding_seed == 0 ? Reads::own_element : Reads::whole_parameter;
}

class Optimizer {
 public:
  // An optimizer of one's own: state of class `optimizer` is allocated here, one tensor of zeros
  // for each parameter and slot name: like the parameter in f32 (f64 for f64 parameters), or as
  // `metas` says. Errors: ValueError (no parameter, the same one twice, a learning rate that is
  // negative or not finite), StateError (an undefined or strided parameter), DTypeError (not
  // floating), DeviceError (several devices).
  Optimizer(std::vector<Tensor> parameters, double learning_rate, std::vector<std::string> slots,
            Rule rule, Reads reads = Reads::whole_parameter, SlotMetas metas = {});
  Optimizer(const Optimizer&) = delete;  // two would share their state
  Optimizer& operator=(const Optimizer&) = delete;
  Optimizer(Optimizer&&) = default;
  Optimizer& operator=(Optimizer&&) = default;

  // One step: grads[i] belongs to parameters()[i] and has its shape and dtype. Off the tape, and
  // not under autocast. Where `skip` (bool [], from optim/loss_scaler.h) is true, parameters, state
  // and step count stay what they are, bit for bit; rules of one's own see to that. Errors, before
  // anything is changed: ShapeError (another number or shape), StateError (undefined), DTypeError,
  // DeviceError.
  void update(std::span<const Tensor> grads, const Tensor& skip = {});

  const std::vector<Tensor>& parameters() const { return parameters_; }
  const Tensor& learning_rate() const { return learning_rate_; }  // f64 [], to read or capture
  void set_learning_rate(double learning_rate);                   // ValueError as above
  const Tensor& steps() const { return steps_; }                  // i64 []: how many there were
  // The same as a number: steps that were made, not those that were skipped. What a schedule takes:
  // optimizer.set_learning_rate(schedule(optimizer.steps_made())).
  int64_t steps_made() const { return steps_.item<int64_t>(); }

  Reads reads() const { return reads_; }
  const std::vector<std::string>& slot_names() const { return slot_names_; }
  const std::vector<std::vector<Tensor>>& slots() const { return slots_; }  // [parameter][slot]
  // From here on it updates these and forgets the others: parts of what it was made with. Their
  // slots are zeros; rate and step count stay. Errors: as for a new one.
  void update_instead(std::vector<Tensor> parameters);

  // Everything to save and to restore in place: "learning_rate", "steps", "<slot>.<number>".
  std::vector<std::pair<std::string, Tensor>> state() const;

 private:
  std::vector<Tensor> parameters_;
  std::vector<std::string> slot_names_;
  std::vector<std::vector<Tensor>> slots_;  // [parameter][slot]
  Rule rule_;
  Reads reads_;
  SlotMetas metas_;
  Tensor learning_rate_, steps_;
};

}  // namespace plimsoll::optim
