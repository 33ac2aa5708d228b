// Autocast: mixed precision. Parameters, losses, optimizer state and running statistics stay f32;
// products and what they hand on take 16 bits, which halves the activations.
//
//   Step step([&](const Tensor& x, const Tensor& y) {
//     const Autocast scope(Precision::bf16);
//     Tensor loss = cross_entropy(model(x, nn::training()), y);       // f32
//     optimizer.update(gradients(loss, model.parameters()));          // f32
//     return loss;
//   });
//
// Each op says by OpDef.cast what becomes of its floating inputs (f64 is left alone); the table is
// in docs/precision.md. The casts are ordinary ops: captured, planned, differentiated. Gradients
// arrive in the type of what they are the gradient of. With f16, whose smallest number is 2^-24,
// scale the loss (optim/loss_scaler.h).
#pragma once

#include "core/engine/apply.h"

namespace plimsoll {

enum class Precision : uint8_t { f32, bf16, f16 };

const char* name_of(Precision precision);

// Until the scope ends, ops on this thread cast their inputs; with Precision::f32 they do not.
// Gradients and optimizers run in the types that the forward pass left behind, inside the scope or
// after it, and a checkpoint recomputes as it first ran.
// A value is cast once as long as anything holds the result: a second use finds the first's bytes
// (through a node of its own, so gradients are added up in f32 whether they were found or not).
// What is written through Tensor::data() or by a peer of DLPack in the meantime it does not see:
// change values with ops, or let go of the results first.
class Autocast {
 public:
  explicit Autocast(Precision precision);
  ~Autocast();

 private:
  ApplyModeScope scope_;
};

}  // namespace plimsoll
