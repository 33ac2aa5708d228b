#include "ops/common/pointwise.cuh"
#include "ops/pointwise/activations/formulas.h"

namespace plimsoll {

template void unary_cuda<formulas::LeakyRelu>(const Call&);
template void unary_grad_cuda<formulas::LeakyRelu>(const Call&);
template void unary_cuda<formulas::Elu>(const Call&);
template void unary_grad_cuda<formulas::Elu>(const Call&);
template void unary_cuda<formulas::Selu>(const Call&);
template void unary_grad_cuda<formulas::Selu>(const Call&);
template void unary_cuda<formulas::Silu>(const Call&);
template void unary_grad_cuda<formulas::Silu>(const Call&);
template void unary_cuda<formulas::Mish>(const Call&);
template void unary_grad_cuda<formulas::Mish>(const Call&);
template void unary_cuda<formulas::Hardsigmoid>(const Call&);
template void unary_grad_cuda<formulas::Hardsigmoid>(const Call&);
template void unary_cuda<formulas::Hardswish>(const Call&);
template void unary_grad_cuda<formulas::Hardswish>(const Call&);
template void unary_cuda<formulas::LogSigmoid>(const Call&);
template void unary_grad_cuda<formulas::LogSigmoid>(const Call&);

}  // namespace plimsoll
