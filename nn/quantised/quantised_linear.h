// QuantisedLinear: y = x W' + b over the last axis, with a frozen W in 8 or 4 bits.
//
//   nn::Linear dense(784, 10, init);
//   nn::QuantisedLinear layer(dense.weight(), dense.bias(), Quantisation::nf4);
//   Tensor y = layer(x);                               // [..., 784] -> [..., 10]
//
// Nothing of it is trained: gradients go through it to x. Buffers: codes, scales and of nf4
// block_scales and offset, as ops/quantise/quantise/quantise.h has them; bias [O] if there is one.
#pragma once

#include "nn/module.h"
#include "ops/quantise/quantise/quantise.h"

namespace plimsoll::nn {

class QuantisedLinear : public Module {
 public:
  // weight [O, I], bias [O] or undefined. On the device without bytes too. Errors: those of
  // quantise(), and ShapeError for a bias of another size.
  QuantisedLinear(const Tensor& weight, const Tensor& bias, Quantisation kind);
  // Of a weight that is quantised already, such as one from a file.
  QuantisedLinear(Quantised weight, const Tensor& bias);
  // ShapeError for an x of another width.
  Tensor forward(const Tensor& x, const Mode& mode) const override;

  const Quantised& weight() const { return weight_; }
  const Tensor& bias() const { return bias_; }  // undefined without one

 private:
  Quantised weight_;
  Tensor bias_;
};

}  // namespace plimsoll::nn
