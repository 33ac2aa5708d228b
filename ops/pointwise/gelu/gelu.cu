#include "ops/common/pointwise.cuh"
#include "ops/pointwise/gelu/formulas.h"

namespace plimsoll {

template void unary_cuda<formulas::Gelu>(const Call&);
template void unary_grad_cuda<formulas::Gelu>(const Call&);
template void unary_cuda<formulas::GeluTanh>(const Call&);
template void unary_grad_cuda<formulas::GeluTanh>(const Call&);

}  // namespace plimsoll
