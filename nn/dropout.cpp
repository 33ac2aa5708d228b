#include "nn/dropout.h"

#include "ops/random/dropout/dropout.h"

namespace plimsoll::nn {

Dropout::Dropout(double p, Initializer& init) : p_(p), site_(init.keys.next()) {
  check<ValueError>(p >= 0 && p < 1, "dropout: p is no probability below 1: ", p,
                    ". Use 0 <= p < 1.");
}

Tensor Dropout::forward(const Tensor& x, const Mode& mode) const {
  if (!mode.training || p_ == 0) return x;
  check<StateError>(mode.key.defined(), "dropout: training with p = ", p_,
                    " needs a key and the mode has none. Pass training(make_key(seed, step)).");
  return dropout(x, p_, mode.key, site_);
}

}  // namespace plimsoll::nn
