// Shards: parameters and optimizer state shared out among ranks (Rajbhandari et al., "ZeRO", 2020),
// so that each keeps one Nth of what it need not have as a whole.
//
//   std::optional<Shards> shards;
//   shards.emplace(parameters, optimizer, *window.shared(), /*rank=*/1, /*ranks=*/4, /*stage=*/3);
//   Step step([&](const Tensor& x, const Tensor& y) {
//     std::vector<Tensor> parts;                     // of the mean gradients: those of this rank
//     {
//       const Shards::Gathered gathered(shards);     // while it lives, parameters are there
//       const Tensor weight = window.weight(counted(y));
//       const Tensor loss = cross_entropy(model(x), y);
//       parts = window.add(gradients(loss, parameters), weight);
//     }
//     if (!parts.empty()) shards->update(std::move(parts), LossScaler::none(), /*clip_norm=*/1);
//     ...
//
// Everything lies in buckets (optim/ranks/buckets.h), of which rank r owns part r:
//
//   stage 0   parameters whole, state whole: every rank updates all
//   1 and 2   parameters are parts of flat buckets, each rank updates its own and gathers the rest;
//             RankWindow says what 2 does besides
//   3         parameters are parts alone, and gathered where a batch needs them
//
// Bits are the same in all stages, as each element's update reads nothing but its own, and the norm
// of all gradients is a sum of chunks that no part cuts.
#pragma once

#include <functional>
#include <optional>

#include "optim/loss_scaler.h"
#include "optim/parameter_groups.h"
#include "optim/ranks/rank_window.h"

namespace plimsoll::optim {

// A tensor that no rank has as a whole.
struct SharedTensor {
  Meta meta;
  // All of it on every rank, in the host's memory; ranks call it together.
  std::function<Tensor()> gathered;
  // Takes this rank's part of a tensor in the host's memory.
  std::function<void(const Tensor&)> take;
};

class Shards {
 public:
  // `window` has sums of the gradients of `parameters`, in order. From stage 1 on parameters come
  // to lie where the stage says, with their values, and the optimizers of `optimizer`, which are
  // then updated by update() alone, have parts of their state, with its values. All outlive this.
  // On one rank every stage is 0. ValueError for a stage that there is not, and for an optimizer
  // that reads whole parameters.
  Shards(std::vector<Tensor> parameters, ParameterGroups& optimizer, const RankWindow& window,
         int64_t rank, int64_t ranks, int64_t stage);
  Shards(const Shards&) = delete;
  Shards& operator=(const Shards&) = delete;

  int64_t stage() const { return stage_; }

  // Parameters are there as long as it lives: they always are below stage 3. In a captured step and
  // outside of it; never two at once.
  class Gathered {
   public:
    explicit Gathered(const std::optional<Shards>& shards);  // none: nothing is to be gathered
    ~Gathered();
    Gathered(const Gathered&) = delete;
    Gathered& operator=(const Gathered&) = delete;

   private:
    const Shards* shards_;
  };
  // Parameters are there from now on, in memory of the current allocator: when training is over.
  void gather_for_good();

  struct Updated {
    Tensor skip{};                // as LossScaler::unscale() has it, the same on all ranks
    std::vector<Tensor> grads{};  // if they are asked for: of each parameter, unscaled, not clipped
  };
  // One update, of what RankWindow::add() gave. clip_norm: the most of the norm of all gradients;
  // 0: they are not clipped. Off the tape.
  Updated update(std::vector<Tensor> parts, const LossScaler& scaler, double clip_norm,
                 bool return_grads = false) const;

  // What to save: of parameters, in order (stage 3 only; else they are there), and of the
  // optimizers' state, as ParameterGroups::state() names it, what is no more in one piece.
  std::vector<SharedTensor> parameters() const;
  std::vector<std::pair<std::string, SharedTensor>> state() const;

 private:
  void share_parameters();
  void share_state();
  void lie_in(size_t b, const Tensor& flat) const;
  std::pair<size_t, size_t> place_of(size_t parameter) const;  // bucket, and number there
  std::vector<Tensor> all_gathered(const std::vector<Tensor>& parts) const;
  std::vector<Tensor> by_parameter(const std::vector<Tensor>& flats) const;
  Tensor norm(const std::vector<Tensor>& grads) const;
  SharedTensor shared(const Tensor& part, size_t b, size_t k) const;
  void update_parts(const std::vector<Tensor>& grads, const Tensor& skip) const;

  std::vector<Tensor> parameters_;
  ParameterGroups& optimizer_;
  const std::vector<Bucket> buckets_;
  const int64_t rank_, ranks_;
  int64_t stage_;
  std::vector<Tensor> flats_;   // of each bucket, below stage 3: where its parameters lie
  std::vector<Tensor> parts_;   // of each bucket: this rank's
  std::vector<size_t> places_;  // of each bucket's part among those of its group's optimizer
};

}  // namespace plimsoll::optim
