#include "nn/module.h"

#include "core/engine/trace.h"

namespace plimsoll::nn {

void Module::check_name(const std::string& name) const {
  check<ValueError>(!name.empty() && name.find('.') == std::string::npos, "module: \"", name,
                    "\" cannot be a name. Names are not empty and have no dots.");
  bool taken = false;
  for (const NamedTensor& own : parameters_) taken = taken || own.name == name;
  for (const NamedTensor& own : buffers_) taken = taken || own.name == name;
  for (const NamedTensor& own : frozen_) taken = taken || own.name == name;
  for (const auto& child : children_) taken = taken || child->name_ == name;
  check<ValueError>(!taken, "module: the name \"", name, "\" is taken. Choose another.");
}

Tensor Module::registered(const std::string& name, const Tensor& value) const {
  check_name(name);
  check<StateError>(value.defined(), "module: \"", name,
                    "\" is an undefined tensor. Give it a value.");
  check<StateError>(!Trace::current(), "module: \"", name,
                    "\" is made while a step is being captured: ", value.meta(),
                    ". Build the model before the step.");
  set_memory_class(value, MemoryClass::parameter);
  return value.detach();
}

Tensor Module::add_parameter(const std::string& name, const Tensor& value) {
  const Tensor leaf = registered(name, value).require_grad();
  parameters_.push_back({name, leaf});
  return leaf;
}

Tensor Module::add_buffer(const std::string& name, const Tensor& value) {
  const Tensor buffer = registered(name, value);
  buffers_.push_back({name, buffer});
  return buffer;
}

Tensor Module::add_frozen(const std::string& name, const Tensor& value) {
  const Tensor frozen = registered(name, value);
  frozen_.push_back({name, frozen});
  return frozen;
}

void Module::add_child(const std::string& name, std::unique_ptr<Module> child) {
  check_name(name);
  check<ValueError>(child != nullptr, "module: \"", name, "\" is a null pointer. Pass a module.");
  child->name_ = name;
  children_.push_back(std::move(child));
}

std::vector<NamedTensor> Module::named(std::vector<NamedTensor> Module::*own) const {
  std::vector<NamedTensor> all = this->*own;
  for (const auto& child : children_)
    for (NamedTensor& inner : child->named(own))
      all.push_back({cat(child->name_, ".", inner.name), std::move(inner.tensor)});
  return all;
}

std::vector<Tensor> Module::parameters() const {
  std::vector<Tensor> all;
  for (NamedTensor& parameter : named_parameters()) all.push_back(std::move(parameter.tensor));
  return all;
}

void Module::visit(const Visitor& visitor, const std::string& prefix) const {
  visitor(prefix, *this);
  for (const auto& child : children_) child->visit(visitor, cat(prefix, child->name_, "."));
}

int64_t Module::parameter_count() const {
  int64_t total = 0;
  for (const NamedTensor& parameter : named_parameters())
    total = checked_add(total, parameter.tensor.count(), "module");
  return total;
}

}  // namespace plimsoll::nn
