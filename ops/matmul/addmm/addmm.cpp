#include "ops/matmul/addmm/addmm.h"

#include "core/engine/apply.h"
#include "ops/common/expect.h"
#include "ops/matmul/matmul/matmul.h"
#include "ops/pointwise/arithmetic/arithmetic.h"

namespace plimsoll {

Tensor addmm(const Tensor& c, const Tensor& a, const Tensor& b, const AddmmOptions& options) {
  check_defined("addmm", c);
  const auto& [beta, alpha] = options;
  Tensor product = matmul(a, b);
  check<ShapeError>(broadcast("addmm", c.shape(), product.shape()) == product.shape(),
                    "addmm: what is added is larger than the product: ", c.shape(), " and ",
                    product.shape(), ". Give what broadcasts to the product.");
  if (alpha != 1) product = product * alpha;
  if (beta == 0) return product;
  const Tensor added = autocast(CastRule::low, {c})[0];
  return product + (beta == 1 ? added : added * beta);
}

extern const std::vector<const OpDef*> addmm_ops{};  // made of others

}  // namespace plimsoll
