#include "optim/ranks/rank_window.h"

#include <algorithm>
#include <array>
#include <bit>

#include "autograd/no_grad.h"
#include "ops/collective/all_gather/all_gather.h"
#include "ops/collective/all_to_all/all_to_all.h"
#include "ops/collective/sum_parts/sum_parts.h"
#include "ops/common/expect.h"
#include "ops/pointwise/arithmetic/arithmetic.h"
#include "ops/pointwise/copy/copy.h"
#include "ops/random/full/full.h"
#include "ops/reduction/extrema/extrema.h"
#include "ops/shape/view/view.h"
#include "ops/update/accumulate_tree/accumulate_tree.h"

namespace plimsoll::optim {
namespace {

int64_t blocks_of(int64_t largest) {
  return std::min(RankWindow::kMostBlocks, largest & -largest);  // its lowest bit
}

// Blocks that a rank adds up by itself.
int64_t own_blocks(int64_t largest, int64_t ranks) {
  return RankWindow::same_bits(largest, ranks) ? blocks_of(largest) / ranks : 1;
}

}  // namespace

bool RankWindow::same_bits(int64_t largest, int64_t ranks) {
  return blocks_of(largest) % ranks == 0;
}

RankWindow::RankWindow(std::span<const Tensor> parameters, int64_t largest, int64_t rank,
                       int64_t ranks, std::span<const size_t> groups, int64_t stage)
    : rank_(rank), ranks_(ranks) {
  check<ValueError>(largest >= 1 && largest % ranks == 0, "accumulation: ", ranks,
                    " ranks do not share a window of ", largest,
                    " batches evenly. Accumulate a multiple of ", ranks, ".");
  most_runs_ = own_ = largest / ranks;
  block_ = most_runs_ / own_blocks(largest, ranks);
  levels_ = 1 + std::countr_zero(static_cast<uint64_t>(own_blocks(largest, ranks)));
  device_ = parameters.empty() ? Device::cpu : parameters[0].device();
  buckets_ = buckets_of(parameters, groups, ranks);
  const MemoryScope scope(MemoryClass::gradient);
  if (stage < 2 || most_runs_ > 1)
    for (const Bucket& bucket : buckets_) kept_.push_back(sums_of(bucket));
  counts_ = zeros({}, {DType::f64, device_});
  present_ = ones({}, {DType::f64, device_});
  run_ = zeros({1}, {DType::i64, device_});
}

// One for each level, empty.
std::vector<Tensor> RankWindow::sums_of(const Bucket& bucket) const {
  const MemoryScope scope(MemoryClass::gradient);
  std::vector<Tensor> sums;
  for (int level = 0; level < levels_; ++level)
    sums.push_back(zeros({bucket.count}, {compute_dtype(bucket.dtype), device_}));
  return sums;
}

RankShare RankWindow::begin(int64_t batches) {
  const int64_t first = rank_ * most_runs_;
  own_ = std::clamp<int64_t>(batches - first, 0, most_runs_);
  return {first, own_, std::min(batches, most_runs_)};
}

void RankWindow::at(int64_t run, int64_t runs) {
  run_.write<int64_t>(std::array{run});
  present_.write<double>(std::array{run < own_ ? 1.0 : 0.0});
  last_ = run + 1 == runs;
}

Tensor RankWindow::weight(const Tensor& count) const {
  const NoGrad scope;
  return count * present_;
}

std::vector<Tensor> RankWindow::add(std::vector<Tensor> grads, const Tensor& weight) const {
  size_t parameters = 0;
  for (const Bucket& bucket : buckets_) parameters += bucket.parameters.size();
  check<ShapeError>(grads.size() == parameters,
                    "accumulation: the number of gradients is wrong: ", grads.size(), " for ",
                    parameters, " parameters. Pass one for each, in the same order.");
  const NoGrad scope;
  accumulate_tree(std::array{counts_}, weight, present_, run_,
                  {.block = most_runs_, .last = last_});
  const Tensor divisor = last_ ? counted_by_all() : Tensor();
  std::vector<Tensor> parts;
  for (size_t b = 0; b < buckets_.size(); ++b) {
    const Bucket& bucket = buckets_[b];
    const std::vector<Tensor> sums = kept_.empty() ? sums_of(bucket) : kept_[b];
    for (size_t k = 0; k < bucket.parameters.size(); ++k) {
      Tensor& grad = grads[bucket.parameters[k]];
      const int64_t begin = bucket.offsets[k], end = begin + grad.count();
      std::vector<Tensor> levels;
      for (const Tensor& sum : sums)
        levels.push_back(reshape(slice(sum, 0, begin, end), grad.shape()));
      accumulate_tree(levels, grad, weight, run_, {.block = block_, .last = last_});
      grad = {};
    }
    if (last_) parts.push_back(part_of_mean(sums.back(), divisor, bucket.dtype));
  }
  return parts;
}

// Counts are whole numbers: their sum is exact in any order. What nothing was counted for is 0.
Tensor RankWindow::counted_by_all() const {
  const Tensor counted = sum_parts(all_gather(counts_));
  return maximum(counted, ones({}, {DType::f64, device_}));
}

Tensor RankWindow::part_of_mean(const Tensor& own, const Tensor& divisor, DType dtype) const {
  const Tensor part = sum_parts(all_to_all(reshape(own, {ranks_, own.count() / ranks_})));
  return cast(part / cast(divisor, own.dtype()), dtype);
}

}  // namespace plimsoll::optim
