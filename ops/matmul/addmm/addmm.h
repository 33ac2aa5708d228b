// A matrix product added to something, both weighted: BLAS' gemm.
//
//   Tensor y = addmm(c, a, b);                                // c + a b: [M, N], [M, K], [K, N]
//   Tensor z = addmm(bias, a, b, {.beta = 0.5, .alpha = 2});  // bias [N] broadcasts
#pragma once

#include "core/tensor/tensor.h"

namespace plimsoll {

struct AddmmOptions {
  double beta = 1, alpha = 1;
};

// beta c + alpha a b. a and b as in matmul(), batches included; c broadcasts to their product. With
// beta = 0 it is not read: NaN in it does not spread. Errors: those of matmul; ShapeError where c
// is larger than the product.
Tensor addmm(const Tensor& c, const Tensor& a, const Tensor& b, const AddmmOptions& options = {});

}  // namespace plimsoll
