#include "tests/op_case.h"

namespace plimsoll {
OpCases copy_cases() { return {}; }
}  // namespace plimsoll
