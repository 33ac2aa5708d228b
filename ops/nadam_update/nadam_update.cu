#include "ops/update.cuh"

#include "ops/nadam_update/rule.h"

namespace plimsoll {

template void update_cuda<update_rules::Nadam>(const Call&);

}  // namespace plimsoll
