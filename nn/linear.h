// Linear: y = x W' + b over the last axis.
//
//   nn::Linear layer(784, 10, init);
//   Tensor y = layer(x);                               // [..., 784] -> [..., 10]
//
// Parameters: weight [O, I] and bias [O], both from U(-1 / sqrt(I), 1 / sqrt(I)). Errors:
// ValueError for widths below 1, ShapeError for an x of another width.
#pragma once

#include "nn/module.h"

namespace plimsoll::nn {

struct LinearOptions {
  bool bias = true;
};

class Linear : public Module {
 public:
  Linear(int64_t in, int64_t out, Initializer& init, const LinearOptions& options = {});
  Tensor forward(const Tensor& x, const Mode& mode) const override;

  const Tensor& weight() const { return weight_; }
  const Tensor& bias() const { return bias_; }  // undefined without one

 private:
  Tensor weight_, bias_;
};

}  // namespace plimsoll::nn
