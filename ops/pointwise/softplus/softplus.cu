#include "ops/common/pointwise.cuh"
#include "ops/pointwise/softplus/formulas.h"

namespace plimsoll {

template void unary_cuda<formulas::Softplus>(const Call&);
template void unary_grad_cuda<formulas::Softplus>(const Call&);

}  // namespace plimsoll
