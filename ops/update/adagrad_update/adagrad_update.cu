#include "ops/common/update.cuh"

#include "ops/update/adagrad_update/rule.h"

namespace plimsoll {

template void update_cuda<update_rules::Adagrad>(const Call&);

}  // namespace plimsoll
