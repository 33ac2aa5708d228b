// Gradient accumulation: several batches, one after another, make one update, as if they had been
// one large batch. What they count, not how many they are, weighs them.
//
//   optim::Accumulation window(model.parameters(), 4);                  // up to 4 batches
//   Step step(
//       [&](const Tensor& x, const Tensor& y) {
//         Tensor loss = cross_entropy(model(x), y);                     // a mean over counted(y)
//         std::vector<Tensor> grads = gradients(loss, model.parameters());
//         grads = window.add(std::move(grads), optim::counted(y));
//         if (!grads.empty()) optimizer.update(optim::clip_by_global_norm(grads, 1.0).grads);
//         return loss;
//       },
//       {.variant = [&] { return window.phase(); }});
//   for (int64_t i = 0; i < 4; ++i) {
//     window.at(i, 4);                 // outside the step; a last window may be shorter
//     step(x[i], y[i]);
//   }
//
// The first batch writes its gradients into tensors kept for that, the others add to them, and the
// last one divides. Clipping, loss scaling, update and schedule belong behind add(): once a window.
// A captured step is another program in each phase; Step keeps them side by side in one arena.
// When a batch fails (out of memory, a label out of range), its part of the gradients may have been
// added already: begin the window again, from part 0. Nothing of the window is used before its end.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/ignored_label.h"
#include "ops/update/accumulate/accumulate.h"

namespace plimsoll::optim {

// How many labels are not `ignore_index`: f64 [], the number that cross_entropy's mean divides by.
Tensor counted(const Tensor& labels, int64_t ignore_index = kIgnoredLabel);

class RankWindow;

class Accumulation {
 public:
  // Windows of up to `largest` batches. With 1 there is nothing to keep and add() hands on what it
  // is given. The sums are of class `gradient`: f32, or f64 for f64 parameters. ValueError for less
  // than 1; what an optimizer refuses as parameters is refused by it.
  Accumulation(std::span<const Tensor> parameters, int64_t largest);
  // The same of several ranks, of which each trains its share of every window: RankWindow has the
  // errors and the order of the sum. Parts are then runs of this rank; begin() comes before them.
  Accumulation(std::span<const Tensor> parameters, int64_t largest, int64_t rank, int64_t ranks,
               std::span<const size_t> groups = {}, int64_t stage = 0);
  const std::shared_ptr<RankWindow>& shared() const { return shared_; }  // null without them

  // The next batch is number `part`, from 0, of a window of `parts`. Between steps. ValueError
  // unless 0 <= part < parts <= largest; StateError while a step is being captured.
  void at(int64_t part, int64_t parts);
  // What the step function depends on besides its inputs: 0 in the middle, +1 first, +2 last. For
  // ranks the first is like any other.
  int64_t phase() const { return (phase_.first ? 1 : 0) + (phase_.last ? 2 : 0); }

  // What add() weighs a batch by that counts so many (f64 []). Where it is asked for before the
  // gradients are, a captured step adds and frees each of them as soon as it is there.
  Tensor weight(const Tensor& count) const;

  // grads: of the mean over `count` terms (as weight() has it), one for each parameter. In the last
  // part of the window the gradients of the mean over all terms of the window (of ranks: of each
  // bucket this rank's part, for Shards::update() in optim/ranks/shards.h), else none. Zeros
  // when nothing was counted. A window of one part gets back what it gave. Off the tape. Errors:
  // ShapeError, DTypeError.
  std::vector<Tensor> add(std::vector<Tensor> grads, const Tensor& count) const;

  // Everything to save and to restore in place in the middle of a window: "total.<number>",
  // "count". Between windows none of it matters. Empty where windows have one batch.
  std::vector<std::pair<std::string, Tensor>> state() const;

 private:
  int64_t largest_;
  Accumulate phase_{.first = true, .last = true};
  std::vector<DType> dtypes_;
  std::vector<Tensor> totals_;
  Tensor counts_;
  std::shared_ptr<RankWindow> shared_;  // by ranks
};

}  // namespace plimsoll::optim
