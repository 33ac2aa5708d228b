// What integer division says on any device.
#pragma once

#include "core/error.h"

namespace plimsoll {

[[noreturn]] inline void fail_divided_by_zero(int64_t dividend) {
  fail<ValueError>("div_trunc: an integer is divided by zero: ", dividend,
                   " / 0. Mask zeros out of the divisor.");
}

}  // namespace plimsoll
