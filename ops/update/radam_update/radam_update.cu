#include "ops/common/update.cuh"

#include "ops/update/radam_update/rule.h"

namespace plimsoll {

template void update_cuda<update_rules::Radam>(const Call&);

}  // namespace plimsoll
