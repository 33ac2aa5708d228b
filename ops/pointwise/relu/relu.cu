#include "ops/common/pointwise.cuh"
#include "ops/pointwise/relu/formulas.h"

namespace plimsoll {

template void unary_cuda<formulas::Relu>(const Call&);
template void unary_grad_cuda<formulas::Relu>(const Call&);

}  // namespace plimsoll
