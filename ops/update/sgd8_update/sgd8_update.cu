#include "ops/common/coded_update.cuh"

#include "ops/update/sgd8_update/rule.h"

namespace plimsoll {

template void coded_update_cuda<update_rules::Sgd8>(const Call&);

}  // namespace plimsoll
