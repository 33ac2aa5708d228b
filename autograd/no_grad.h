// NoGrad: nothing is recorded on the tape until the scope ends.
//
//   { NoGrad scope; accuracy = mean(cast(argmax(model(x)) == y, DType::f32)); }
#pragma once

#include "core/apply.h"

namespace plimsoll {

class NoGrad {
 public:
  NoGrad() : NoGrad(false) {}

 protected:
  explicit NoGrad(bool record) : scope_(with_record(record)) {}

 private:
  static ApplyMode with_record(bool record) {
    ApplyMode mode = apply_mode();
    mode.record = record;
    return mode;
  }
  ApplyModeScope scope_;
};

// Turns recording on again inside a NoGrad: a checkpoint that runs its function a second time.
class WithGrad : NoGrad {
 public:
  WithGrad() : NoGrad(true) {}
};

}  // namespace plimsoll
