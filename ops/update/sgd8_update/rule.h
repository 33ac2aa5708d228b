// The rule of gradient descent with momentum in 8 bits, as the drivers of
// ops/common/coded_update.h and ops/common/coded_update.cuh run it.
#pragma once

#include "ops/update/sgd_update/rule.h"

namespace plimsoll::update_rules {

struct Sgd8 : SgdMomentum {
  static constexpr const char* name = "sgd8_update";
  static constexpr std::array is_signed{true};
};

}  // namespace plimsoll::update_rules
