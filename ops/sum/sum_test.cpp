#include "tests/op_case.h"

namespace plimsoll {
OpCases sum_cases() { return {}; }
}  // namespace plimsoll
