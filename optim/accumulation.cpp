#include "optim/accumulation.h"

#include "autograd/no_grad.h"
#include "core/engine/trace.h"
#include "ops/common/update.h"
#include "ops/pointwise/compare/compare.h"
#include "ops/pointwise/copy/copy.h"
#include "ops/random/full/full.h"
#include "ops/reduction/sum/sum.h"
#include "optim/ranks/rank_window.h"

namespace plimsoll::optim {

Tensor counted(const Tensor& labels, int64_t ignore_index) {
  const NoGrad scope;
  const Tensor ignored =
      full({}, static_cast<double>(ignore_index), {labels.dtype(), labels.device()});
  return cast(sum(ne(labels, ignored)), DType::f64);
}

Accumulation::Accumulation(std::span<const Tensor> parameters, int64_t largest)
    : largest_(largest) {
  check<ValueError>(largest >= 1, "accumulation: a window has no batches: ", largest,
                    ". Use 1 or more.");
  if (largest == 1) return;
  const MemoryScope scope(MemoryClass::gradient);
  for (const Tensor& p : parameters) {
    dtypes_.push_back(p.dtype());
    totals_.push_back(zeros(p.shape(), {compute_dtype(p.dtype()), p.device()}));
  }
  counts_ = zeros({}, {DType::f64, parameters.empty() ? Device::cpu : parameters[0].device()});
}

// One rank alone with windows of one batch has nothing to add.
Accumulation::Accumulation(std::span<const Tensor> parameters, int64_t largest, int64_t rank,
                           int64_t ranks, std::span<const size_t> groups, int64_t stage)
    : largest_(largest) {
  if (largest > 1 || ranks > 1)
    shared_ = std::make_shared<RankWindow>(parameters, largest, rank, ranks, groups, stage);
  if (shared_) largest_ = shared_->most_runs();
}

void Accumulation::at(int64_t part, int64_t parts) {
  check<ValueError>(0 <= part && part < parts && parts <= largest_, "accumulation: part ", part,
                    " of ", parts, " is not in a window of up to ", largest_,
                    ". Count parts from 0, and make the accumulation for the longest window.");
  check<StateError>(!Trace::current(),
                    "accumulation: the part is chosen inside a captured step, which would keep it "
                    "for ever: ",
                    part, ". Choose it before the step.");
  phase_ = {.first = part == 0 && !shared_, .last = part + 1 == parts};
  if (shared_) shared_->at(part, parts);
}

Tensor Accumulation::weight(const Tensor& count) const {
  return shared_ ? shared_->weight(count) : count;
}

std::vector<Tensor> Accumulation::add(std::vector<Tensor> grads, const Tensor& count) const {
  if (shared_) return shared_->add(std::move(grads), count);
  if (phase_.first && phase_.last) return grads;
  check<ShapeError>(grads.size() == totals_.size(),
                    "accumulation: the number of gradients is wrong: ", grads.size(), " for ",
                    totals_.size(), " parameters. Pass one for each, in the same order.");
  const NoGrad scope;
  for (size_t i = 0; i < grads.size(); ++i) {
    accumulate(totals_[i], grads[i], count, counts_, phase_);
    grads[i] = {};
  }
  if (phase_.last) {
    for (size_t i = 0; i < grads.size(); ++i) grads[i] = cast(totals_[i], dtypes_[i]);
  } else {
    const Tensor one = ones({}, {DType::f64, count.device()});
    accumulate(counts_, count, one, one, {.first = phase_.first});
    grads.clear();
  }
  return grads;
}

std::vector<std::pair<std::string, Tensor>> Accumulation::state() const {
  std::vector<std::pair<std::string, Tensor>> all;
  for (size_t i = 0; i < totals_.size(); ++i) all.emplace_back(cat("total.", i), totals_[i]);
  if (!totals_.empty()) all.emplace_back("count", counts_);
  return all;
}

}  // namespace plimsoll::optim
