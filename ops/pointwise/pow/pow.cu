#include "ops/common/pointwise.cuh"
#include "ops/pointwise/pow/formulas.h"

namespace plimsoll {

template void binary_cuda<formulas::Power>(const Call&);
template void binary_cuda<formulas::PowerByBase>(const Call&);
template void binary_cuda<formulas::PowerByExponent>(const Call&);

template void unary_cuda<formulas::ConstantPower>(const Call&);
template void unary_grad_cuda<formulas::ConstantPower>(const Call&);

}  // namespace plimsoll
