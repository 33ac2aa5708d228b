#include "ops/common/coded_update.cuh"

#include "ops/update/adam8_update/rule.h"

namespace plimsoll {

template void coded_update_cuda<update_rules::Adam8>(const Call&);

}  // namespace plimsoll
