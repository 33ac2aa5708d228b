// NoGrad: nothing is recorded on the tape until the scope ends.
//
//   { NoGrad scope; logits = model(x); }        // an evaluation: nothing is kept for gradients
#pragma once

#include "core/engine/apply.h"

namespace plimsoll {

class NoGrad {
 public:
  NoGrad() : scope_(not_recording()) {}

 private:
  static ApplyMode not_recording() {
    ApplyMode mode = apply_mode();
    mode.record = false;
    return mode;
  }
  ApplyModeScope scope_;
};

}  // namespace plimsoll
