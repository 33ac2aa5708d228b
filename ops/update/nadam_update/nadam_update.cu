#include "ops/common/update.cuh"

#include "ops/update/nadam_update/rule.h"

namespace plimsoll {

template void update_cuda<update_rules::Nadam>(const Call&);

}  // namespace plimsoll
