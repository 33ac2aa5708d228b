// Random steps: straight-line functions of tensors drawn from a seed, with views, several outputs,
// scratch, in-place candidates, values nobody uses and writes into tensors from outside.
#pragma once

#include <random>

#include "tests/support/memory_ops.h"

namespace plimsoll::memory_test {

class RandomStep {
 public:
  // `state` is read and written in place; all tensors of one step have rank 1.
  // `exchange` is called now and then too, and gives a tensor of its argument's shape.
  using Exchange = std::function<Tensor(const Tensor&)>;
  RandomStep(uint32_t seed, int ops, std::vector<Tensor> state, Exchange exchange = {})
      : seed_(seed), ops_(ops), state_(std::move(state)), exchange_(std::move(exchange)) {}

  std::vector<Tensor> operator()(std::span<const Tensor> inputs) const {
    std::mt19937 random(seed_);
    std::vector<Tensor> live(inputs.begin(), inputs.end());
    live.insert(live.end(), state_.begin(), state_.end());
    const size_t given = live.size();
    for (int k = 0; k < ops_; ++k) {
      // Mostly recent values: programs are deep, not wide.
      const size_t window = random() % 4 ? std::min<size_t>(live.size(), 4) : live.size();
      const Tensor x = live[live.size() - 1 - random() % window];
      for (Tensor& y : apply_one(random, x, live)) live.push_back(std::move(y));
      if (random() % 6 == 0 && live.size() > given)  // forgotten: its lifetime may end here
        live.erase(live.begin() + static_cast<int64_t>(given + random() % (live.size() - given)));
    }
    std::vector<Tensor> results;
    for (int k = 0; k < 3; ++k) results.push_back(live[random() % live.size()]);
    results.push_back(evens(live.back()));
    return results;
  }

 private:
  std::vector<Tensor> apply_one(std::mt19937& random, const Tensor& x,
                                const std::vector<Tensor>& live) const {
    const int64_t n = x.size(0);
    std::vector<Tensor> same;  // what x can be added to
    for (const Tensor& y : live)
      if (y.shape() == x.shape()) same.push_back(y);
    const Tensor& y = same[random() % same.size()];
    if (exchange_ && random() % 4 == 0)  // of a sum in half of the cases
      return {exchange_(random() % 2 ? state_[random() % state_.size()] : x)};
    switch (random() % 9) {
      case 0:
      case 1:
        return {plus(x, y)};
      case 2:
      case 3:
        return {scale(x, 0.5f + 0.125f * static_cast<float>(random() % 8))};
      case 4:
        return {flip(x)};
      case 5:
        return split(x);
      case 6:
        return {scan(x)};
      case 7:
        return {rows(x, n / 4, n - n / 4)};
      default:
        for (const Tensor& total : state_) {
          if (total.shape() != x.shape()) continue;
          const bool other = y.value().storage != total.value().storage;
          add_to(total, other ? y : scale(x, 0.5f));  // y may be old: this could run earlier
        }
        return {};
    }
  }

  uint32_t seed_;
  int ops_;
  std::vector<Tensor> state_;
  Exchange exchange_;
};

}  // namespace plimsoll::memory_test
