// Dropout: y = x m / (1 - p), where each m is 0 with probability p and 1 otherwise (Srivastava et
// al., 2014). Evaluation, and p = 0, return x.
//
//   nn::Dropout dropout(0.1, init);
//   Tensor y = dropout(x, nn::training(make_key(seed, step)));
//
// Each Dropout draws from the step's key with a site of its own, so two of them never share a mask.
// Errors: ValueError for p outside [0, 1), StateError for training without a key.
#pragma once

#include "nn/module.h"

namespace plimsoll::nn {

class Dropout : public Module {
 public:
  Dropout(double p, Initializer& init);
  Tensor forward(const Tensor& x, const Mode& mode) const override;

 private:
  double p_;
  uint64_t site_;
};

}  // namespace plimsoll::nn
