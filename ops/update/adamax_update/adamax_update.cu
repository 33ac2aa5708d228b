#include "ops/common/update.cuh"

#include "ops/update/adamax_update/rule.h"

namespace plimsoll {

template void update_cuda<update_rules::Adamax>(const Call&);

}  // namespace plimsoll
