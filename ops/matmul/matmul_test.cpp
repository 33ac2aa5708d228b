#include "tests/op_case.h"

namespace plimsoll {
OpCases matmul_cases() { return {}; }
}  // namespace plimsoll
