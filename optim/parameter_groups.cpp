#include "optim/parameter_groups.h"

#include <algorithm>

#include "optim/scheduled_rate.h"

namespace plimsoll::optim {
namespace {

bool same(const Tensor& a, const Tensor& b) { return a.value().storage == b.value().storage; }

}  // namespace

ParameterGroups::ParameterGroups(Optimizer& optimizer)
    : ParameterGroups({{"", optimizer}}, optimizer.parameters()) {}

ParameterGroups::ParameterGroups(std::vector<ParameterGroup> groups,
                                 const std::vector<Tensor>& parameters)
    : groups_(std::move(groups)), parameters_(parameters) {
  check<ValueError>(!groups_.empty(), "parameter_groups: there is no optimizer. Pass one or more.");
  std::vector<int> owners(parameters.size());
  for (const ParameterGroup& group : groups_) {
    places_.emplace_back();
    for (const Tensor& parameter : group.optimizer.parameters()) {
      const auto found = std::ranges::find_if(
          parameters, [&](const Tensor& other) { return same(parameter, other); });
      check<ValueError>(found != parameters.end(), "parameter_groups: ",
                        group.name.empty() ? "the optimizer" : cat("\"", group.name, "\""),
                        " has a parameter that is not among those of all, ", parameter.shape(),
                        ". Pass the parameters of the whole model.");
      const auto place = static_cast<size_t>(found - parameters.begin());
      places_.back().push_back(place);
      ++owners[place];
    }
  }
  for (size_t i = 0; i < owners.size(); ++i)
    check<ValueError>(owners[i] == 1, "parameter_groups: parameter ", i, ", ",
                      parameters[i].shape(), ", is in ", owners[i],
                      " groups. Give each to one of them.");
}

void ParameterGroups::update(std::span<const Tensor> grads, const Tensor& skip) {
  check<ShapeError>(grads.size() == parameters_.size(), "parameter_groups: ", grads.size(),
                    " gradients for ", parameters_.size(), " parameters. Pass one for each.");
  for (size_t g = 0; g < groups_.size(); ++g) {
    std::vector<Tensor> own;
    for (const size_t place : places_[g]) own.push_back(grads[place]);
    groups_[g].optimizer.update(own, skip);
  }
}

std::vector<size_t> ParameterGroups::group_of_each() const {
  std::vector<size_t> all(parameters_.size());
  for (size_t g = 0; g < places_.size(); ++g)
    for (const size_t place : places_[g]) all[place] = g;
  return all;
}

void ParameterGroups::set_learning_rate(double rate) {
  for (const ParameterGroup& group : groups_) group.optimizer.set_learning_rate(rate);
}

void ParameterGroups::set(const ScheduledRate& rate) const {
  for (const ParameterGroup& group : groups_) rate.set(group.optimizer);
}

std::vector<std::pair<std::string, Tensor>> ParameterGroups::counters() const {
  std::vector<std::pair<std::string, Tensor>> all;
  for (const auto& [name, optimizer] : groups_) {
    const std::string prefix = name.empty() ? "" : name + ".";
    all.emplace_back(prefix + "learning_rate", optimizer.learning_rate());
    all.emplace_back(prefix + "steps", optimizer.steps());
  }
  return all;
}

std::vector<std::pair<std::string, Tensor>> ParameterGroups::state() const {
  std::vector<std::pair<std::string, Tensor>> all;
  for (const ParameterGroup& group : groups_)
    for (const auto& [name, tensor] : group.optimizer.state())
      all.emplace_back(group.name.empty() ? name : cat(group.name, ".", name), tensor);
  return all;
}

}  // namespace plimsoll::optim
