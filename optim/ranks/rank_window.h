// RankWindow: a window of batches that several ranks train together, each its share of neighbours,
// and the gradients of their mean over all that all of them count, of which each rank gets a part.
//
//   RankWindow window(parameters, /*largest=*/8, /*rank=*/1, /*ranks=*/2);
//   const RankShare share = window.begin(8);          // batches 4 to 7 of the window
//   for (int64_t i = 0; i < share.runs; ++i) {
//     window.at(i, share.runs);
//     step(x[i], y[i]);      // calls add(gradients, weight(counted(y))), at last for the mean
//   }
//
// The sum is one tree over the whole window, whoever has which part of it:
//
//   batches   0 1   2 3   4 5   6 7      blocks of neighbours, each added from the left
//              \ /   \ /   \ /   \ /
//   2 ranks     +-----+     +-----+      a rank adds its subtree while it trains
//                  \           /
//                   +---------+          all_to_all, sum_parts: each has a part of the sum
//
// There are as many blocks as the largest power of two, up to kMostBlocks, that divides a window.
// Where the number of ranks divides that too, the bits are the same for any such number, one
// included. Other numbers of ranks add their shares from the left, in an order of their own.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "optim/ranks/buckets.h"

namespace plimsoll::optim {

// What a rank has of a window.
struct RankShare {
  int64_t first;    // of its batches, in the window
  int64_t batches;  // how many; 0 where a shorter window has none left for it
  int64_t runs;     // of its step, as many as the first rank's; those after its batches are on any
                    // batch, which counts nothing
};

class RankWindow {
 public:
  static constexpr int64_t kMostBlocks = 8;

  // ValueError where ranks do not divide the largest window. The sums lie in buckets, with `groups`
  // as buckets_of() has them, and are of class `gradient`: 1 + log2(blocks of a rank) sets of
  // gradients, which are added to as soon as a gradient is there. From stage 2 on
  // (optim/ranks/shards.h) there are none where a rank has one run in a window: the step makes each
  // bucket's sums, and they go when they are sent.
  RankWindow(std::span<const Tensor> parameters, int64_t largest, int64_t rank, int64_t ranks,
             std::span<const size_t> groups = {}, int64_t stage = 0);

  // Whether the bits are those of one rank.
  static bool same_bits(int64_t largest, int64_t ranks);

  // A window of `batches`, of 1 ... largest, begins. Between steps.
  RankShare begin(int64_t batches);
  // Run `run` of `runs` comes next; the last of them communicates with the other ranks.
  void at(int64_t run, int64_t runs);

  // What a batch weighs that counts so many (f64 []): as many, or 0 for a run that counts nothing.
  Tensor weight(const Tensor& count) const;
  // As Accumulation::add(), for one run of the step, with weight(count). In the last of them this
  // rank's part of the mean of each bucket, [count / N]. Off the tape.
  std::vector<Tensor> add(std::vector<Tensor> grads, const Tensor& weight) const;

  const std::vector<Bucket>& buckets() const { return buckets_; }

  // For what else is gathered by place: which run of its rank this is, i64 [1]; and runs of a rank.
  const Tensor& run() const { return run_; }
  int64_t most_runs() const { return most_runs_; }

 private:
  std::vector<Tensor> sums_of(const Bucket& bucket) const;
  Tensor counted_by_all() const;
  Tensor part_of_mean(const Tensor& own, const Tensor& divisor, DType dtype) const;

  int64_t rank_, ranks_, most_runs_, block_;
  int levels_;
  Device device_;
  bool last_ = false;
  std::vector<Bucket> buckets_;
  std::vector<std::vector<Tensor>> kept_;  // of each bucket, a sum of each level; or none
  Tensor counts_;                          // f64 []: what was counted here
  int64_t own_;                            // batches of this rank in the window
  Tensor present_;                         // f64 []: 1, or 0 for a run that counts nothing
  Tensor run_;
};

}  // namespace plimsoll::optim
