#include "optim/rank_window.h"

#include <algorithm>
#include <array>
#include <bit>

#include "autograd/no_grad.h"
#include "core/engine/trace.h"
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

constexpr int64_t kAlignment = 16;  // elements: whole cache lines

int64_t rounded_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

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
                       int64_t ranks)
    : rank_(rank), ranks_(ranks) {
  check<ValueError>(largest >= 1 && largest % ranks == 0, "accumulation: ", ranks,
                    " ranks do not share a window of ", largest,
                    " batches evenly. Accumulate a multiple of ", ranks, ".");
  most_runs_ = largest / ranks;
  block_ = most_runs_ / own_blocks(largest, ranks);
  const Device device = parameters.empty() ? Device::cpu : parameters[0].device();
  DType dtype = DType::f32;
  int64_t n = 0;
  for (const Tensor& p : parameters) {
    if (shapes_.empty()) dtype = compute_dtype(p.dtype());
    check<ValueError>(compute_dtype(p.dtype()) == dtype,
                      "accumulation: ranks add gradients of one type: ", dtype, " and ",
                      compute_dtype(p.dtype()), ". Give all parameters one.");
    shapes_.push_back(p.shape());
    dtypes_.push_back(p.dtype());
    offsets_.push_back(n);
    n = rounded_up(n + p.count(), kAlignment);
  }
  const MemoryScope scope(MemoryClass::gradient);
  const int levels = std::countr_zero(static_cast<uint64_t>(own_blocks(largest, ranks)));
  for (int level = 0; level <= levels; ++level)
    flat_.push_back(zeros({rounded_up(n, kAlignment * ranks)}, {dtype, device}));
  for (size_t i = 0; i < shapes_.size(); ++i) {
    levels_.emplace_back();
    for (const Tensor& flat : flat_)
      levels_[i].push_back(
          reshape(slice(flat, 0, offsets_[i], offsets_[i] + count(shapes_[i])), shapes_[i]));
  }
  counts_ = zeros({}, {DType::f64, device});
  present_ = ones({}, {DType::f64, device});
  run_ = zeros({1}, {DType::i64, device});
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
  // The gradients of the last layers are there first. All go into one buffer, in this order.
  for (size_t i = grads.size(); i-- > 0;) {
    accumulate_tree(levels_[i], grads[i], weight, run_, {.block = block_, .last = last_});
    grads[i] = {};
  }
  return last_ ? mean_of_all() : std::vector<Tensor>();
}

// Counts are whole numbers: their sum is exact in any order. Each rank divides its part.
std::vector<Tensor> RankWindow::mean_of_all() const {
  const Tensor& own = flat_.back();
  const Tensor counted = sum_parts(all_gather(counts_));
  const Tensor divisor = cast(maximum(counted, ones({}, {DType::f64, own.device()})), own.dtype());
  const Tensor part = sum_parts(all_to_all(reshape(own, {ranks_, -1}))) / divisor;
  const Tensor all = reshape(all_gather(part), {-1});
  std::vector<Tensor> grads;
  for (size_t i = 0; i < shapes_.size(); ++i) {
    const Tensor flat = slice(all, 0, offsets_[i], offsets_[i] + count(shapes_[i]));
    grads.push_back(cast(reshape(flat, shapes_[i]), dtypes_[i]));
  }
  return grads;
}

}  // namespace plimsoll::optim
