// What every update rule says about its step count, on any device.
#pragma once

#include <cstdint>

namespace plimsoll {

// ValueError: the number of the step is below 1, from which it is counted.
[[noreturn]] void throw_bad_step(const char* op, int64_t step);

}  // namespace plimsoll
