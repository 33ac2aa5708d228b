#include "tests/op_case.h"

namespace plimsoll {
OpCases full_cases() { return {}; }
}  // namespace plimsoll
