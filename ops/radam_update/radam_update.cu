#include "ops/update.cuh"

#include "ops/radam_update/rule.h"

namespace plimsoll {

template void update_cuda<update_rules::Radam>(const Call&);

}  // namespace plimsoll
