#include "ops/common/update.cuh"

#include "ops/update/adam_update/rule.h"

namespace plimsoll {

template void update_cuda<update_rules::Adam>(const Call&);
template void update_cuda<update_rules::Amsgrad>(const Call&);

}  // namespace plimsoll
