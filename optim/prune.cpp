#include "optim/prune.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>
#include <numeric>

#include "autograd/no_grad.h"
#include "core/engine/trace.h"
#include "ops/random/full/full.h"
#include "ops/update/apply_mask/apply_mask.h"

namespace plimsoll::optim {
namespace {

void check_options(const PruneOptions& options) {
  const SparsitySchedule& s = options.schedule;
  check<ValueError>(0 <= s.begin && s.begin <= s.end, "prune: the steps are not in order: begin ",
                    s.begin, ", end ", s.end, ". Use 0 <= begin <= end.");
  check<ValueError>(s.frequency >= 1, "prune: there is no such frequency: ", s.frequency,
                    " steps. Use 1 or more.");
  if (options.groups) {
    const auto [zeros, group] = *options.groups;
    check<ValueError>(0 < zeros && zeros < group,
                      "prune: a group cannot have so many zeros: ", zeros, " of ", group,
                      ". Use 0 < zeros < group.");
    return;
  }
  check<ValueError>(0 <= s.initial && s.initial <= s.final && s.final < 1,
                    "prune: the shares are out of range: initial ", s.initial, ", final ", s.final,
                    ". Use 0 <= initial <= final < 1.");
  check<ValueError>(std::isfinite(s.power) && s.power > 0,
                    "prune: there is no such power: ", s.power, ". Use a number above 0.");
}

constexpr double kPruned = -1;

// What an earlier mask took counts as less than any zero; NaN as the largest, so that the order is
// one.
std::vector<double> magnitudes(const Tensor& weight, const Tensor& mask) {
  std::vector<double> values = weight.to_vector<double>();
  const auto kept = mask.to_vector<uint8_t>();
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = kept[i] == 0            ? kPruned
                : std::isnan(values[i]) ? std::numeric_limits<double>::infinity()
                                        : std::abs(values[i]);
  return values;
}

void keep_largest(const std::vector<double>& values, double sparsity, bool* mask) {
  const auto n = static_cast<double>(values.size());
  const auto kept = static_cast<int64_t>(std::max(1.0, std::nearbyint(n * (1 - sparsity))));
  std::vector<double> order = values;
  const auto smallest_kept = order.begin() + (kept - 1);
  std::nth_element(order.begin(), smallest_kept, order.end(), std::greater<>());
  for (size_t i = 0; i < values.size(); ++i)
    mask[i] = values[i] >= *smallest_kept && values[i] != kPruned;
}

// values [rows, width]; groups do not reach over the end of a row.
void keep_in_groups(const std::vector<double>& values, int64_t width, Groups groups, bool* mask) {
  const int64_t kept = groups.group - groups.zeros;
  std::vector<int64_t> order(static_cast<size_t>(groups.group));
  for (int64_t row = 0; row < std::ssize(values); row += width)
    for (int64_t begin = row; begin < row + width; begin += groups.group) {
      const int64_t size = std::min<int64_t>(groups.group, row + width - begin);
      const auto end = order.begin() + size;
      std::iota(order.begin(), end, begin);
      std::stable_sort(order.begin(), end, [&](int64_t a, int64_t b) {
        return values[static_cast<size_t>(a)] > values[static_cast<size_t>(b)];
      });
      for (int64_t i = 0; i < size; ++i) {
        const auto at = static_cast<size_t>(order[static_cast<size_t>(i)]);
        mask[at] = i < kept && values[at] != kPruned;
      }
    }
}

void append_row(std::string& text, const WeightSparsity& row) {
  char numbers[80];
  std::snprintf(numbers, sizeof numbers, "%12lld of %12lld are 0  %6.2f %%  ",
                static_cast<long long>(row.zeros), static_cast<long long>(row.count),
                100 * row.share());
  text += numbers + row.name + "\n";
}

}  // namespace

double SparsitySchedule::at(int64_t step) const {
  if (end <= begin) return final;
  const double done =
      static_cast<double>(std::clamp(step, begin, end) - begin) / static_cast<double>(end - begin);
  return final + (initial - final) * std::pow(1 - done, power);
}

bool SparsitySchedule::due(int64_t step) const {
  return begin <= step && step <= end && ((step - begin) % frequency == 0 || step == end);
}

std::string Sparsity::text() const {
  std::string result;
  for (const WeightSparsity& row : rows) append_row(result, row);
  append_row(result, all);
  return result;
}

std::vector<NamedTensor> prunable(const std::vector<NamedTensor>& parameters) {
  std::vector<NamedTensor> weights = parameters;
  std::erase_if(weights, [](const NamedTensor& own) { return own.tensor.rank() < 2; });
  return weights;
}

Pruner::Pruner(std::vector<NamedTensor> weights, const PruneOptions& options)
    : weights_(std::move(weights)), options_(options) {
  check_options(options_);
  check<ValueError>(!weights_.empty(),
                    "prune: there is no weight: 0 were given. Pass at least one.");
  const MemoryScope scope(MemoryClass::optimizer);
  for (const auto& [name, weight] : weights_) {
    check<StateError>(weight.defined() && weight.contiguous(), "prune: ", name,
                      " is undefined or a strided view. Pass the whole tensor.");
    check<DTypeError>(is_floating(weight.dtype()), "prune: ", name,
                      " is not of a floating type: ", weight.meta(), ". Leave it out.");
    masks_.push_back(ones(weight.shape(), {DType::boolean, weight.device()}));
  }
}

bool Pruner::prune(int64_t step) {
  check<StateError>(!Trace::current(),
                    "prune: a step is being captured: it would be done once and never again. "
                    "Call it between steps.");
  if (masks_.empty() || !options_.schedule.due(step)) return false;
  const double sparsity = options_.schedule.at(step);
  for (size_t i = 0; i < weights_.size(); ++i) {
    const Tensor& weight = weights_[i].tensor;
    const auto n = static_cast<size_t>(weight.count());
    if (n == 0 || weight.device() == Device::null) continue;
    const std::vector<double> values = magnitudes(weight, masks_[i]);
    const auto mask = std::make_unique<bool[]>(n);
    if (options_.groups)
      keep_in_groups(values, weight.rank() == 0 ? 1 : weight.size(-1), *options_.groups,
                     mask.get());
    else
      keep_largest(values, sparsity, mask.get());
    masks_[i].write(std::span<const bool>(mask.get(), n));
  }
  apply();
  return true;
}

void Pruner::apply() const {
  const NoGrad scope;
  for (size_t i = 0; i < masks_.size(); ++i) apply_mask(weights_[i].tensor, masks_[i]);
}

void Pruner::strip() {
  apply();
  masks_.clear();
}

Sparsity Pruner::sparsity() const {
  Sparsity result;
  result.all.name = "all";
  for (const auto& [name, weight] : weights_) {
    WeightSparsity row{.name = name, .count = weight.count()};
    for (const double v : weight.to_vector<double>()) row.zeros += v == 0;
    result.all.zeros += row.zeros;
    result.all.count += row.count;
    result.rows.push_back(std::move(row));
  }
  return result;
}

std::vector<std::pair<std::string, Tensor>> Pruner::state() const {
  std::vector<std::pair<std::string, Tensor>> all;
  for (size_t i = 0; i < masks_.size(); ++i) all.emplace_back(cat("mask.", i), masks_[i]);
  return all;
}

}  // namespace plimsoll::optim
