// Reverse-mode differentiation of what the tape recorded.
//
//   std::vector<Tensor> g = gradients(loss, model.parameters());
//   backward(loss);  w.grad();                        // the same, added into the leaves
#pragma once

#include <span>
#include <vector>

#include "core/tensor.h"

namespace plimsoll {

struct GradientOptions {
  Tensor seed{};        // gradient of `loss` itself; undefined: ones, and loss has one element
  bool retain = false;  // keep the saved values, so that the tape can be walked again
  bool create_graph = false;  // record the gradients too, so that they can be differentiated
};

// d(loss)/d(x) for each x, in x's shape and dtype; zeros for an x that loss does not depend on.
// Saved values are freed as the walk passes them. Only the part of the tape between loss and xs is
// visited: gradients that nobody asked for are not computed.
// Errors: ShapeError (loss has several elements and no seed; seed of another shape), StateError
// (loss or an x is not on the tape; the saved values are already freed; an op has no gradient).
std::vector<Tensor> gradients(const Tensor& loss, std::span<const Tensor> xs,
                              const GradientOptions& options = {});

// Adds d(loss)/d(leaf) into leaf.grad() for every leaf that loss depends on.
void backward(const Tensor& loss, const GradientOptions& options = {});

// Forgets what backward() added up in these leaves.
void zero_grad(std::span<const Tensor> leaves);

}  // namespace plimsoll
