#include "ops/common/update.cuh"

#include "ops/update/rmsprop_update/rule.h"

namespace plimsoll {

template void update_cuda<update_rules::Rmsprop<false, false>>(const Call&);
template void update_cuda<update_rules::Rmsprop<false, true>>(const Call&);
template void update_cuda<update_rules::Rmsprop<true, false>>(const Call&);
template void update_cuda<update_rules::Rmsprop<true, true>>(const Call&);

}  // namespace plimsoll
