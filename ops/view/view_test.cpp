#include "tests/op_case.h"

namespace plimsoll {
OpCases view_cases() { return {}; }
}  // namespace plimsoll
