#include "optim/clip.h"

#include "autograd/no_grad.h"
#include "ops/reduction/extrema/extrema.h"
#include "ops/update/global_norm/global_norm.h"

namespace plimsoll::optim {

Clipped clip_by_global_norm(std::span<const Tensor> grads, double max_norm) {
  const NoGrad scope;
  Clipped result;
  result.norm = global_norm(grads);
  const MemoryScope memory(MemoryClass::gradient);
  for (const Tensor& grad : grads)
    result.grads.push_back(scale_to_norm(grad, result.norm, max_norm));
  return result;
}

std::vector<Tensor> clip_grad_value(std::span<const Tensor> grads, double limit) {
  check<ValueError>(limit > 0, "clip_grad_value: the limit must be positive: ", limit,
                    ". Use a number above 0.");
  const NoGrad scope;
  std::vector<Tensor> clipped;
  for (const Tensor& grad : grads) clipped.push_back(clamp(grad, -limit, limit));
  return clipped;
}

}  // namespace plimsoll::optim
