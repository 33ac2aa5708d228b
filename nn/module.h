// Module: parameters and buffers with names, and forward() as a function of ops.
//
//   struct Mlp : nn::Module {
//     explicit Mlp(nn::Initializer& init)
//         : hidden(add<nn::Linear>("hidden", 784, 128, init)),
//           out(add<nn::Linear>("out", 128, 10, init)) {}
//     Tensor forward(const Tensor& x, const nn::Mode& mode) const override {
//       return out(relu(hidden(x, mode)), mode);  // [B, 784] -> [B, 10]
//     }
//     const nn::Linear &hidden, &out;
//   };
//   Mlp model(init);
//   Tensor loss = cross_entropy(model(x, nn::training()), labels);
//   std::vector<Tensor> g = gradients(loss, model.parameters());
//
// A module never changes: training writes new bytes into its tensors in place, so a Tensor handle
// stays valid for as long as anyone holds it. Modules are neither copied nor moved.
#pragma once

#include <functional>

#include "core/engine/module_scope.h"
#include "core/tensor/named_tensor.h"
#include "nn/init.h"

namespace plimsoll::nn {

// What a call is for. There is no switch hidden in the model: every call says it.
struct Mode {
  bool training = false;
  Tensor key{};  // of this step's dropout: make_key(seed, step). Only modules with dropout need it
  // Where a sequence goes on: attention adds x to what it has read before (nn/key_value_cache.h).
  const class KeyValueCache* cache = nullptr;
  Tensor positions{};  // of x in the sequence: i64 [T], one after another, beside a cache
  // Of rows that hold several sequences, one after another (data/text/packing.h): i64 [B, T], which
  // of them a position lies in. Then positions is i64 [B, T] as well. Attention reads it.
  Tensor segments{};
  // Where batch norm leaves what it found (nn/norm.h); nullptr: the running ones move.
  const class BatchStatistics* statistics = nullptr;
};

// Whether positions are those of the mode: beside a cache, and where rows hold several sequences.
inline bool has_positions(const Mode& mode) { return mode.cache || mode.segments.defined(); }

inline Mode training(const Tensor& key = {}) { return {.training = true, .key = key}; }
inline Mode evaluation() { return {}; }

using plimsoll::NamedTensor;

class Module {
 public:
  Module() = default;
  virtual ~Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  virtual Tensor forward(const Tensor& x, const Mode& mode) const = 0;
  // What is called so is named where memory is: core/engine/module_scope.h.
  Tensor operator()(const Tensor& x, const Mode& mode = {}) const {
    const ModuleScope scope(name_);
    return forward(x, mode);
  }

  // Own tensors in order of registration, then those of each child, depth first. Names are joined
  // with dots.
  std::vector<Tensor> parameters() const;
  std::vector<NamedTensor> named_parameters() const { return named(&Module::parameters_); }
  std::vector<NamedTensor> named_buffers() const { return named(&Module::buffers_); }
  std::vector<NamedTensor> named_frozen() const { return named(&Module::frozen_); }
  int64_t parameter_count() const;  // elements

  // Calls visitor(prefix, module) for this module and each one inside it, parents first, in order
  // of registration: "" for this one, then "blocks.", "blocks.0.", ...
  using Visitor = std::function<void(const std::string& prefix, const Module& module)>;
  void visit(const Visitor& visitor, const std::string& prefix = "") const;

 protected:
  // Registers a tensor that is trained, and returns it as a leaf of the tape. Buffers belong to the
  // model but are not trained: running statistics, tables. Errors: ValueError (a name that is
  // empty, taken or holds a dot), StateError (called while a step is being captured).
  Tensor add_parameter(const std::string& name, const Tensor& value);
  Tensor add_buffer(const std::string& name, const Tensor& value);
  // What is neither trained nor saved with the model: weights that a file has. It may lie in that
  // file (Safetensors::mapped), so nothing writes into it.
  Tensor add_frozen(const std::string& name, const Tensor& value);

  // Takes a child under a name; it lives as long as this module.
  template <std::derived_from<Module> M>
  M& add(const std::string& name, std::unique_ptr<M> child) {
    M* const module = child.get();
    add_child(name, std::move(child));  // refuses a null pointer
    return *module;
  }
  // Makes the child from the arguments of its constructor.
  template <std::derived_from<Module> M, class... Args>
  M& add(const std::string& name, Args&&... args) {
    return add(name, std::make_unique<M>(std::forward<Args>(args)...));
  }

 private:
  void check_name(const std::string& name) const;
  void add_child(const std::string& name, std::unique_ptr<Module> child);
  Tensor registered(const std::string& name, const Tensor& value) const;
  std::vector<NamedTensor> named(std::vector<NamedTensor> Module::*own) const;

  std::vector<NamedTensor> parameters_, buffers_, frozen_;
  std::string name_;  // among its parent's children
  std::vector<std::unique_ptr<Module>> children_;
};

}  // namespace plimsoll::nn
