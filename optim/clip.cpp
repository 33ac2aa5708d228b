#include "optim/clip.h"

#include "autograd/no_grad.h"
#include "ops/global_norm/global_norm.h"

namespace plimsoll::optim {

Clipped clip_by_global_norm(std::span<const Tensor> grads, double max_norm) {
  const NoGrad scope;
  Clipped result;
  result.norm = global_norm(grads);
  for (const Tensor& grad : grads)
    result.grads.push_back(scale_to_norm(grad, result.norm, max_norm));
  return result;
}

}  // namespace plimsoll::optim
