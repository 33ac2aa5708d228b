// Magnitude pruning: while a model trains, more and more of its smallest weights are set to 0 for
// good (Zhu and Gupta, "To prune, or not to prune", 2017).
//
//   optim::Pruner pruner(optim::prunable(model.named_parameters()),
//                        {.schedule = {.final = 0.8, .begin = 1000, .end = 9000}});
//   Step step([&](const Tensor& x, const Tensor& y) {
//     Tensor loss = cross_entropy(model(x), y);
//     optimizer.update(gradients(loss, model.parameters()));
//     pruner.apply();                                            // captured with the rest
//     return loss;
//   });
//   for (int64_t i = 0; i < steps; ++i) {
//     pruner.prune(optimizer.steps_made());                     // outside of it: new masks, if due
//     step(x[i], y[i]);
//   }
//   pruner.strip();
//   std::puts(pruner.sparsity().text().c_str());
//
// What it does to memory: training takes one byte more for each weight that may be pruned (class
// `optimizer`) and no byte less, and runs no faster, because no kernel here skips zeros. A file of
// pruned weights is as long too; what becomes small is that file once it is compressed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/tensor/named_tensor.h"

namespace plimsoll::optim {

// The schedule of TensorFlow's model-optimization toolkit, PolynomialDecay. By default: the final
// share at once, before the first step.
struct SparsitySchedule {
  double initial = 0;       // share of zeros at step `begin`, if `end` is a later one
  double final = 0.5;       // ... and from step `end` on
  int64_t begin = 0;        // first step at which masks are made
  int64_t end = 0;          // last one
  int64_t frequency = 100;  // steps between new masks
  double power = 3;

  // final + (initial - final) (1 - (step - begin) / (end - begin))^power, `step` moved into
  // [begin, end]; `final` when these are the same.
  double at(int64_t step) const;
  // Whether new masks are made before this step: every `frequency` steps from `begin` on, and at
  // `end`, so that the final share is reached. (In the toolkit `end` counts only when it is one of
  // the former: its share may stay short of the final one.)
  bool due(int64_t step) const;
};

// Fine-grained structure, 2:4 for the sparse matrix units of GPUs: of every `group` neighbours
// along the last axis at least `zeros` are 0. The last axis is the one a product sums over first:
// the inputs of [O, I], the channels of [O, KH, KW, C]. It is not that of a transposed convolution,
// [C, KH, KW, O], which sums over the first, nor of an embedding, of which rows are picked: leave
// them out.
struct Groups {
  int zeros = 2, group = 4;
};

struct PruneOptions {
  SparsitySchedule schedule{};
  // Instead of a share: the schedule then says only when, and its shares are not looked at.
  std::optional<Groups> groups{};
};

// Those with at least two axes: gains and biases are few, and every one counts.
std::vector<NamedTensor> prunable(const std::vector<NamedTensor>& parameters);

struct WeightSparsity {
  std::string name;
  int64_t zeros = 0, count = 0;
  double share() const { return count == 0 ? 0 : static_cast<double>(zeros) / count; }
};

struct Sparsity {
  std::vector<WeightSparsity> rows;  // one for each weight
  WeightSparsity all;
  std::string text() const;  // a line for each, and one for all
};

class Pruner {
 public:
  // Makes the masks, which keep everything. Errors: ValueError (no weight; numbers out of range:
  // shares outside [0, 1) or falling, steps below 0 or in the wrong order, a frequency below 1,
  // groups unless 0 < zeros < group), StateError (an undefined or strided weight), DTypeError (not
  // floating).
  Pruner(std::vector<NamedTensor> weights, const PruneOptions& options);

  // Makes new masks where they are due before this step, counted from 0, and applies them. Each
  // weight by itself: of its n elements the k = max(1, round(n (1 - share))) largest in magnitude
  // are kept, a half rounded to the even number, and so is all that is as large as the smallest of
  // them. Of groups exactly `zeros` go, of equal magnitudes the later ones; a last group that is
  // shorter counts as filled with zeros. What an earlier mask took goes before everything else and
  // does not come back. Reads the weights: StateError while a step is being captured. Returns
  // whether they were due.
  bool prune(int64_t step);

  // Sets to 0 what is pruned: after each update. Ops only, nothing is read: it can be captured. A
  // weight once pruned stays so. (In the toolkit one comes back when its next update alone, just
  // before new masks, makes it large enough.)
  void apply() const;

  // For the end: applies the masks and gives up their bytes, unless a captured step still holds
  // them. From here on prune() and apply() do nothing.
  void strip();

  // Zeros of the weights as they are now, however they came to be.
  Sparsity sparsity() const;
  // Everything to save and to restore in place: "mask.<number>"; empty after strip().
  std::vector<std::pair<std::string, Tensor>> state() const;

 private:
  std::vector<NamedTensor> weights_;
  PruneOptions options_;
  std::vector<Tensor> masks_;
};

}  // namespace plimsoll::optim
