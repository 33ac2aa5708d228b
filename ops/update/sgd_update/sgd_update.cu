#include "ops/common/update.cuh"

#include "ops/update/sgd_update/rule.h"

namespace plimsoll {

template void update_cuda<update_rules::Sgd>(const Call&);
template void update_cuda<update_rules::SgdMomentum>(const Call&);

}  // namespace plimsoll
