#include "ops/common/pointwise.cuh"
#include "ops/pointwise/math/formulas.h"

namespace plimsoll {

template void unary_cuda<formulas::Exp>(const Call&);
template void unary_grad_cuda<formulas::Exp>(const Call&);
template void unary_cuda<formulas::Log>(const Call&);
template void unary_grad_cuda<formulas::Log>(const Call&);
template void unary_cuda<formulas::Sqrt>(const Call&);
template void unary_grad_cuda<formulas::Sqrt>(const Call&);
template void unary_cuda<formulas::Square>(const Call&);
template void unary_grad_cuda<formulas::Square>(const Call&);
template void unary_cuda<formulas::Tanh>(const Call&);
template void unary_grad_cuda<formulas::Tanh>(const Call&);
template void unary_cuda<formulas::Sigmoid>(const Call&);
template void unary_grad_cuda<formulas::Sigmoid>(const Call&);
template void unary_cuda<formulas::Abs>(const Call&);
template void unary_grad_cuda<formulas::Abs>(const Call&);
template void unary_cuda<formulas::Rsqrt>(const Call&);
template void unary_grad_cuda<formulas::Rsqrt>(const Call&);
template void unary_cuda<formulas::Sin>(const Call&);
template void unary_grad_cuda<formulas::Sin>(const Call&);
template void unary_cuda<formulas::Cos>(const Call&);
template void unary_grad_cuda<formulas::Cos>(const Call&);
template void unary_cuda<formulas::Erf>(const Call&);
template void unary_grad_cuda<formulas::Erf>(const Call&);
template void unary_cuda<formulas::Sign>(const Call&);

}  // namespace plimsoll
