// The rule of Adam with moments in 8 bits, as the drivers of ops/common/coded_update.h and
// ops/common/coded_update.cuh run it.
#pragma once

#include "ops/update/adam_update/rule.h"

namespace plimsoll::update_rules {

struct Adam8 : Adam {
  static constexpr const char* name = "adam8_update";
  static constexpr std::array is_signed{true, false};
};

}  // namespace plimsoll::update_rules
