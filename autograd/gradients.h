// Reverse-mode differentiation of what the tape recorded.
//
//   std::vector<Tensor> g = gradients(loss, model.parameters());
//   backward(loss);  w.grad();                        // the same, added into the leaves
#pragma once

#include <span>
#include <vector>

#include "core/tensor/tensor.h"

namespace plimsoll {

struct GradientOptions {
  Tensor seed{};        // gradient of `loss` itself; undefined: ones, and loss has one element
  bool retain = false;  // keep the saved values, so that the tape can be walked again
  bool create_graph = false;  // record the gradients too, so that they can be differentiated
  // Nodes made before this one (Node::next_seq()) are not walked through and keep their saved
  // values; they are reached when they are in xs. checkpoint() stays on its own piece this way.
  uint64_t oldest = 0;
};

// d(loss)/d(x) for each x, contiguous, in x's shape and dtype; zeros for an x that loss does not
// depend on. They may share memory with each other, and with the seed.
// Saved values are freed as the walk passes them, also when it fails half-way: then run the forward
// pass again. Only the part of the tape between loss and xs is visited: gradients that nobody asked
// for are not computed. Loss and seed are let go of once they have been read: move them in where
// they are large.
// Second derivatives (create_graph) exist where an op's gradient is made of other ops; the fused
// gradients (of pointwise functions, norms, softmax, ...) have none and say so.
// Errors: ShapeError (loss has several elements and no seed), ValueError (a seed of another shape,
// type or device), StateError (loss or an x is not on the tape; the saved values are already freed;
// an op has no gradient, or its rule returns one of another shape or type).
std::vector<Tensor> gradients(Tensor loss, std::span<const Tensor> xs,
                              GradientOptions options = {});

// Adds d(loss)/d(leaf) into leaf.grad() for every leaf that loss depends on, in memory of its own.
// All of them change, or none when it throws. StateError while a step is being captured: a leaf
// cannot hold what has no value yet.
void backward(const Tensor& loss, const GradientOptions& options = {});

// Forgets what backward() added up in these leaves.
void zero_grad(std::span<const Tensor> leaves);

}  // namespace plimsoll
