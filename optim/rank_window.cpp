#include "optim/rank_window.h"

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
                       int64_t ranks, std::span<const size_t> groups)
    : rank_(rank), ranks_(ranks), levels_(parameters.size()) {
  check<ValueError>(largest >= 1 && largest % ranks == 0, "accumulation: ", ranks,
                    " ranks do not share a window of ", largest,
                    " batches evenly. Accumulate a multiple of ", ranks, ".");
  most_runs_ = largest / ranks;
  block_ = most_runs_ / own_blocks(largest, ranks);
  const Device device = parameters.empty() ? Device::cpu : parameters[0].device();
  for (const Tensor& p : parameters) shapes_.push_back(p.shape());
  buckets_ = buckets_of(parameters, groups, ranks);
  const MemoryScope scope(MemoryClass::gradient);
  const int levels = 1 + std::countr_zero(static_cast<uint64_t>(own_blocks(largest, ranks)));
  for (const Bucket& bucket : buckets_) {
    flat_.emplace_back();
    for (int level = 0; level < levels; ++level)
      flat_.back().push_back(zeros({bucket.count}, {compute_dtype(bucket.dtype), device}));
    for (const Tensor& flat : flat_.back())
      for (size_t k = 0; k < bucket.parameters.size(); ++k)
        levels_[bucket.parameters[k]].push_back(in_bucket(flat, bucket, k));
  }
  counts_ = zeros({}, {DType::f64, device});
  present_ = ones({}, {DType::f64, device});
  run_ = zeros({1}, {DType::i64, device});
}

Tensor RankWindow::in_bucket(const Tensor& flat, const Bucket& bucket, size_t k) const {
  const Shape& shape = shapes_[bucket.parameters[k]];
  return reshape(slice(flat, 0, bucket.offsets[k], bucket.offsets[k] + count(shape)), shape);
}

RankShare RankWindow::begin(int64_t batches) {
  const int64_t first = rank_ * most_runs_;
  const int64_t own = std::clamp<int64_t>(batches - first, 0, most_runs_);
  present_.write<double>(std::array{own > 0 ? 1.0 : 0.0});
  return {first, own, std::max<int64_t>(own, 1)};
}

void RankWindow::at(int64_t run, int64_t runs) {
  run_.write<int64_t>(std::array{run});
  last_ = run + 1 == runs;
}

Tensor RankWindow::weight(const Tensor& count) const {
  const NoGrad scope;
  return count * present_;
}

std::vector<Tensor> RankWindow::add(std::vector<Tensor> grads, const Tensor& weight) const {
  check<ShapeError>(grads.size() == shapes_.size(),
                    "accumulation: the number of gradients is wrong: ", grads.size(), " for ",
                    shapes_.size(), " parameters. Pass one for each, in the same order.");
  const NoGrad scope;
  accumulate_tree(std::array{counts_}, weight, present_, run_,
                  {.block = most_runs_, .last = last_});
  for (const Bucket& bucket : buckets_)
    for (const size_t i : bucket.parameters) {
      accumulate_tree(levels_[i], grads[i], weight, run_, {.block = block_, .last = last_});
      grads[i] = {};
    }
  return last_ ? mean_of_all() : std::vector<Tensor>();
}

// Counts are whole numbers: their sum is exact in any order. Each rank divides its parts.
std::vector<Tensor> RankWindow::mean_of_all() const {
  const Tensor counted = sum_parts(all_gather(counts_));
  const Tensor divisor = maximum(counted, ones({}, {DType::f64, counted.device()}));
  std::vector<Tensor> grads(shapes_.size());
  for (size_t b = 0; b < buckets_.size(); ++b) {
    const Bucket& bucket = buckets_[b];
    const Tensor& own = flat_[b].back();
    const Tensor part = sum_parts(all_to_all(reshape(own, {ranks_, bucket.count / ranks_}))) /
                        cast(divisor, own.dtype());
    const Tensor all = reshape(all_gather(part), {-1});
    for (size_t k = 0; k < bucket.parameters.size(); ++k)
      grads[bucket.parameters[k]] = cast(in_bucket(all, bucket, k), bucket.dtype);
  }
  return grads;
}

}  // namespace plimsoll::optim
