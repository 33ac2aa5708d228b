// Backward: what a gradient rule (OpDef::vjp) is given and may read.
//
//   std::vector<Tensor> relu_vjp(const Backward& b) { return {relu_grad(b.grad(), b.output(0))}; }
#pragma once

#include <span>

#include "core/engine/op.h"
#include "core/tensor/tensor.h"

namespace plimsoll {

// The gradients of the outputs, what the rule reads of inputs and outputs, all shapes.
class Backward {
 public:
  // `sums`: where what arrives at each input is added up, or nullptr.
  Backward(const std::shared_ptr<Node>& node, std::span<Tensor> grads, Bits needed,
           std::span<Tensor* const> sums = {})
      : node_(node), grads_(grads), needed_(needed), sums_(sums) {}

  const Tensor& grad(int output = 0) const { return grads_[output]; }  // undefined: it is zero
  // The same, given away: its memory goes back as soon as the rule no longer needs it.
  Tensor take_grad(int output = 0) const { return std::move(grads_[output]); }
  // What others have sent to an input so far, given away: the rule returns it with its own gradient
  // added. Undefined where nothing has come, where it is not contiguous, and where gradients are
  // recorded: then they are added by an op that has one.
  Tensor take_sum(int input) const {
    Tensor* const sum = static_cast<size_t>(input) < sums_.size() ? sums_[input] : nullptr;
    return sum && sum->defined() && sum->contiguous() ? std::move(*sum) : Tensor();
  }
  Tensor input(int number) const;   // StateError unless in vjp.inputs
  Tensor output(int number) const;  // StateError unless in vjp.outputs
  const Meta& input_meta(int number) const { return node_->in_metas[number]; }
  const Meta& output_meta(int number) const { return node_->out_metas[number]; }
  int inputs() const { return static_cast<int>(node_->in_metas.size()); }
  bool needs(int input) const { return has(needed_, input); }  // is this gradient wanted at all?
  template <class T>
  const T& attrs() const {
    return node_->attrs.as<T>();
  }

 private:
  const std::shared_ptr<Node>& node_;
  std::span<Tensor> grads_;
  Bits needed_;
  std::span<Tensor* const> sums_;
};

}  // namespace plimsoll
