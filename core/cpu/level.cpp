#include "core/cpu/level.h"

namespace plimsoll {

const char* cpu_level() { return kCompiledLevel; }

}  // namespace plimsoll
