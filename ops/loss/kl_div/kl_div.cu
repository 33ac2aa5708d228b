#include "ops/loss/common/pointwise_loss.cuh"
#include "ops/loss/kl_div/formulas.h"

namespace plimsoll {

template void loss_cuda<loss_formulas::Kl>(const Call&);
template void loss_grad_cuda<loss_formulas::Kl, 0>(const Call&);
template void loss_grad_cuda<loss_formulas::Kl, 1>(const Call&);
template void loss_cuda<loss_formulas::KlLog>(const Call&);
template void loss_grad_cuda<loss_formulas::KlLog, 0>(const Call&);
template void loss_grad_cuda<loss_formulas::KlLog, 1>(const Call&);

}  // namespace plimsoll
