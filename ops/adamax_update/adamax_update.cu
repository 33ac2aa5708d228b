#include "ops/update.cuh"

#include "ops/adamax_update/rule.h"

namespace plimsoll {

template void update_cuda<update_rules::Adamax>(const Call&);

}  // namespace plimsoll
