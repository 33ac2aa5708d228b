#include "ops/common/update.cuh"

#include "ops/update/average_update/rule.h"

namespace plimsoll {

template void update_cuda<update_rules::Average>(const Call&);

}  // namespace plimsoll
