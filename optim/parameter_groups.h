// ParameterGroups: several optimizers as one, each with parameters of its own: as PyTorch's
// parameter groups, with rules that may differ too.
//
//   const std::vector<Tensor> all = model.parameters();
//   optim::AdamW matrices(all of rank 2, {.weight_decay = 0.1}), vectors(..., {.weight_decay = 0});
//   optim::ParameterGroups groups({{"matrices", matrices}, {"vectors", vectors}}, all);
//   groups.update(gradients(loss, all));
#pragma once

#include "optim/optimizer.h"

namespace plimsoll::optim {

class ScheduledRate;

struct ParameterGroup {
  std::string name;  // of its state
  Optimizer& optimizer;
};

class ParameterGroups {
 public:
  // One for all of its parameters, with its state under its own names.
  // NOLINTNEXTLINE(google-explicit-constructor): one is what most have
  ParameterGroups(Optimizer& optimizer);
  // Optimizers that outlive this. ValueError unless each of `parameters`, in whatever order, is in
  // exactly one of them, and for no group.
  ParameterGroups(std::vector<ParameterGroup> groups, const std::vector<Tensor>& parameters);

  // grads[i] belongs to parameters()[i]. Otherwise as Optimizer::update().
  void update(std::span<const Tensor> grads, const Tensor& skip = {});
  const std::vector<Tensor>& parameters() const { return parameters_; }
  // The same groups for gradients in another order. ValueError as above.
  ParameterGroups in_order_of(const std::vector<Tensor>& parameters) const {
    return {groups_, parameters};
  }

  const std::vector<ParameterGroup>& groups() const { return groups_; }
  // Of each group, the numbers of its parameters among parameters().
  const std::vector<std::vector<size_t>>& places() const { return places_; }
  std::vector<size_t> group_of_each() const;  // of parameters(), its number

  void set_learning_rate(double rate);
  void set(const ScheduledRate& rate) const;  // in a captured step
  const Tensor& learning_rate() const { return first().learning_rate(); }
  const Tensor& steps() const { return first().steps(); }  // the same in all of them
  int64_t steps_made() const { return first().steps_made(); }
  // Of state(), what has no slot: "<group>.learning_rate", "<group>.steps".
  std::vector<std::pair<std::string, Tensor>> counters() const;
  // "<group>.learning_rate" and so on.
  std::vector<std::pair<std::string, Tensor>> state() const;

 private:
  const Optimizer& first() const { return groups_.front().optimizer; }

  std::vector<ParameterGroup> groups_;
  std::vector<Tensor> parameters_;
  std::vector<std::vector<size_t>> places_;  // of each group's parameters among parameters_
};

}  // namespace plimsoll::optim
