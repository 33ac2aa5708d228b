#include "nn/generate/sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/error.h"
#include "core/base/philox.h"

namespace plimsoll::nn {
namespace {

constexpr uint64_t kStream = 0x746f6b656e;  // "token": other random numbers have other streams

// The highest score. Comparing finds no NaN, so each is looked at.
float highest_of(std::span<const float> logits) {
  check<ValueError>(!logits.empty(), "sample: there are no scores. Give one for each token.");
  float highest = -std::numeric_limits<float>::infinity();
  for (size_t i = 0; i < logits.size(); ++i) {
    check<NumericError>(logits[i] < std::numeric_limits<float>::infinity(),
                        "sample: the score of token ", i, " is ", logits[i],
                        ". Look at the model's weights.");
    highest = std::max(highest, logits[i]);
  }
  check<NumericError>(std::isfinite(highest), "sample: all ", logits.size(),
                      " scores are -infinity. Look at the model's weights.");
  return highest;
}

// The lowest score that top_k leaves.
float lowest_of_top(std::span<const float> logits, int64_t k) {
  if (k == 0 || k >= std::ssize(logits)) return -std::numeric_limits<float>::infinity();
  std::vector<float> sorted(logits.begin(), logits.end());
  std::ranges::nth_element(sorted, sorted.begin() + (k - 1), std::greater());
  return sorted[static_cast<size_t>(k - 1)];
}

double total_of(const std::vector<Choice>& choices) {
  double total = 0;
  for (const Choice& choice : choices) total += choice.probability;
  return total;
}

// Leaves the most probable until they have `share` of the whole. A heap: most often few are needed
// of very many.
void keep_nucleus(std::vector<Choice>& all, double share) {
  const auto less = [](const Choice& a, const Choice& b) {
    return a.probability != b.probability ? a.probability < b.probability : a.token > b.token;
  };
  const double wanted = share * total_of(all);
  std::ranges::make_heap(all, less);
  auto rest = all.end();
  for (double kept = 0; kept < wanted && rest != all.begin(); kept += rest->probability)
    std::pop_heap(all.begin(), rest--, less);
  all.erase(all.begin(), rest);
  std::ranges::sort(all, {}, &Choice::token);
}

}  // namespace

void check_sampling(const SamplingOptions& options) {
  check<ValueError>(options.temperature > 0 && std::isfinite(options.temperature),
                    "sample: the temperature is not above 0: ", options.temperature,
                    ". Use greedy for the most probable token.");
  check<ValueError>(options.top_k >= 0, "sample: top_k is below 0: ", options.top_k,
                    ". Use 1 or more, or 0 for all.");
  check<ValueError>(options.top_p > 0 && options.top_p <= 1,
                    "sample: top_p is not above 0 and at most 1: ", options.top_p,
                    ". Use 1 for all.");
}

std::vector<Choice> choices(std::span<const float> logits, const SamplingOptions& options) {
  check_sampling(options);
  const float highest = highest_of(logits);
  if (options.greedy) return {{std::ranges::find(logits, highest) - logits.begin(), 1.0}};
  const float lowest = lowest_of_top(logits, options.top_k);
  std::vector<Choice> all;
  for (int64_t token = 0; token < std::ssize(logits); ++token) {
    const float score = logits[static_cast<size_t>(token)];
    if (!(score >= lowest)) continue;
    const double below = static_cast<double>(score) - static_cast<double>(highest);
    all.push_back({token, std::exp(below / options.temperature)});
  }
  if (options.top_p < 1) keep_nucleus(all, options.top_p);
  const double total = total_of(all);
  for (Choice& choice : all) choice.probability /= total;
  return all;
}

int64_t sample(std::span<const float> logits, const SamplingOptions& options, uint64_t key,
               uint64_t number) {
  const std::vector<Choice> all = choices(logits, options);
  const auto words = random_words(key, kStream, number);
  const double drawn = static_cast<double>((uint64_t{words[0]} << 32 | words[1]) >> 11) * 0x1p-53;
  double below = 0;
  for (const Choice& choice : all) {
    below += choice.probability;
    if (drawn < below) return choice.token;
  }
  // The probabilities add up to 1 less an error of rounding.
  return std::ranges::max_element(all, {}, &Choice::probability)->token;
}

}  // namespace plimsoll::nn
