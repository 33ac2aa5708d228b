// Products with the ops that read them, or read what they read, as one op. On a GPU cuBLASLt does
// them in one kernel where that pays (epilogues.cu); a captured step gets them by a pass
// (memory/fusion/epilogues.h), after its gradients were written, so they have none of their own.
//
//   const auto [y, h] = linear_gelu_tanh(x, w, b);    // h = linear(x, w, b), y = gelu_tanh(h)
//
// On the CPU they have the bits of the ops by themselves. Errors: those of linear and matmul.
#pragma once

#include <array>

#include "core/tensor.h"

namespace plimsoll {

// Whether both outputs are written; the second is undefined otherwise.
struct EpilogueAttrs {
  bool both = true;
  bool operator==(const EpilogueAttrs&) const = default;
};

// {gelu_tanh(h), h}, h = linear(x, w, bias): x [..., I], w [O, I], bias [O] or undefined
// -> [..., O] twice.
std::array<Tensor, 2> linear_gelu_tanh(const Tensor& x, const Tensor& w, const Tensor& bias,
                                       EpilogueAttrs attrs = {});

// {dh, sum of dh over its rows}, dh = gelu_tanh'(h) * (dy w): dy [R, O], w [O, I], h [..., I] with R
// rows -> [..., I], [I]. ShapeError.
std::array<Tensor, 2> matmul_gelu_tanh_grad(const Tensor& dy, const Tensor& w, const Tensor& h,
                                            EpilogueAttrs attrs = {});

// The gradients of a linear layer's weight and bias, {dy' x, sum of dy over its rows}: dy [R, O],
// x [R, I] -> [O, I], [O]. ShapeError.
std::array<Tensor, 2> linear_weight_grad(const Tensor& dy, const Tensor& x);

}  // namespace plimsoll
