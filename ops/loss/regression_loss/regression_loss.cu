#include "ops/loss/common/pointwise_loss.cuh"
#include "ops/loss/regression_loss/formulas.h"

namespace plimsoll {

template void loss_cuda<loss_formulas::Mse>(const Call&);
template void loss_grad_cuda<loss_formulas::Mse, 0>(const Call&);
template void loss_grad_cuda<loss_formulas::Mse, 1>(const Call&);
template void loss_cuda<loss_formulas::L1>(const Call&);
template void loss_grad_cuda<loss_formulas::L1, 0>(const Call&);
template void loss_grad_cuda<loss_formulas::L1, 1>(const Call&);
template void loss_cuda<loss_formulas::SmoothL1>(const Call&);
template void loss_grad_cuda<loss_formulas::SmoothL1, 0>(const Call&);
template void loss_grad_cuda<loss_formulas::SmoothL1, 1>(const Call&);
template void loss_cuda<loss_formulas::Huber>(const Call&);
template void loss_grad_cuda<loss_formulas::Huber, 0>(const Call&);
template void loss_grad_cuda<loss_formulas::Huber, 1>(const Call&);

}  // namespace plimsoll
