// Drawing tokens: which may be drawn, by a plain implementation of the papers, and how often each
// is.
#include "nn/generate/sampling.h"

#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "core/base/philox.h"
#include "tests/nn/testing.h"

namespace plimsoll::nn {
namespace {

constexpr float kInfinite = std::numeric_limits<float>::infinity();

std::vector<float> scores(size_t n, uint64_t key) {
  std::vector<float> all;
  for (size_t i = 0; i < n; ++i) all.push_back(8 * unit_float(random_words(key, 1, i)[0]) - 4);
  return all;
}

// Sorts everything, step by step as it is written down.
std::map<int64_t, double> plainly(const std::vector<float>& logits, double temperature, size_t k,
                                  double p) {
  std::vector<std::pair<double, int64_t>> sorted;
  for (size_t i = 0; i < logits.size(); ++i)
    sorted.push_back({-double{logits[i]} / temperature, static_cast<int64_t>(i)});
  std::ranges::sort(sorted);
  if (k > 0 && k < sorted.size()) {
    const double last = sorted[k - 1].first;
    std::erase_if(sorted, [&](const auto& entry) { return entry.first > last; });
  }
  double total = 0;
  for (auto& entry : sorted) total += entry.first = std::exp(-entry.first);
  std::map<int64_t, double> kept;
  double share = 0, kept_total = 0;
  for (const auto& [weight, token] : sorted) {
    if (share >= p) break;
    share += weight / total;
    kept_total += kept[token] = weight;
  }
  for (auto& [token, weight] : kept) weight /= kept_total;
  return kept;
}

TEST(Sampling, LeavesWhatThePapersLeave) {
  for (uint64_t key = 0; key < 20; ++key)
    for (const size_t n : {1U, 2U, 50U, 1000U})
      for (const double temperature : {0.3, 1.0, 2.5})
        for (const int64_t k : {0, 1, 5, 40, 5000})
          for (const double p : {1e-9, 0.2, 0.9, 1.0}) {
            const std::vector<float> logits = scores(n, key);
            const SamplingOptions options{.temperature = temperature, .top_k = k, .top_p = p};
            const std::map<int64_t, double> expected =
                plainly(logits, temperature, static_cast<size_t>(k), p);
            const std::vector<Choice> actual = choices(logits, options);
            ASSERT_EQ(actual.size(), expected.size()) << key << " " << n << " " << k << " " << p;
            auto next = expected.begin();
            for (const Choice& choice : actual) {
              ASSERT_EQ(choice.token, next->first);
              ASSERT_NEAR(choice.probability, next->second, 1e-12);
              ++next;
            }
          }
}

TEST(Sampling, EqualScoresStayTogetherInTopKAndAreTakenInOrderInTopP) {
  const std::vector<float> logits{1, 3, 3, 3, 2};
  const auto tokens = [&](const SamplingOptions& options) {
    std::vector<int64_t> all;
    for (const Choice& choice : choices(logits, options)) all.push_back(choice.token);
    return all;
  };
  EXPECT_EQ(tokens({.top_k = 2}), (std::vector<int64_t>{1, 2, 3}));
  EXPECT_EQ(tokens({.top_k = 3, .top_p = 0.5}), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(tokens({.top_p = 0.1}), (std::vector<int64_t>{1}));
  EXPECT_EQ(tokens({.greedy = true}), (std::vector<int64_t>{1}));
  const std::vector<float> hidden{-kInfinite, 0, -kInfinite};
  EXPECT_EQ(sample(hidden, {}, 1, 1), 1);
}

// Of 40,000 draws under one key, each of them the same in every run. 0.999 quantile of chi-square.
TEST(Sampling, DrawsByProbability) {
  const std::vector<float> logits = scores(30, 7);
  for (const SamplingOptions& options :
       {SamplingOptions{}, SamplingOptions{.temperature = 0.7, .top_k = 12},
        SamplingOptions{.temperature = 1.5, .top_p = 0.8}}) {
    constexpr int kDraws = 40000;
    std::map<int64_t, int> counts;
    for (uint64_t i = 0; i < kDraws; ++i) ++counts[sample(logits, options, 99, i)];
    double chi_square = 0;
    const std::vector<Choice> all = choices(logits, options);
    int rest = kDraws;
    for (const Choice& choice : all) {
      const double expected = kDraws * choice.probability, seen = counts[choice.token];
      chi_square += (seen - expected) * (seen - expected) / expected;
      rest -= counts[choice.token];
    }
    EXPECT_EQ(rest, 0) << "others were drawn";
    const auto freedom = static_cast<double>(all.size() - 1);
    EXPECT_LT(chi_square, freedom + 4.3 * std::sqrt(2 * freedom)) << all.size();
    EXPECT_GT(chi_square, freedom - 4.3 * std::sqrt(2 * freedom)) << all.size();
  }
}

TEST(Sampling, IsAFunctionOfKeyAndNumber) {
  const std::vector<float> logits(1000, 0.5F);
  std::set<int64_t> by_number, by_key;
  for (uint64_t i = 0; i < 50; ++i) {
    by_number.insert(sample(logits, {}, 1, i));
    by_key.insert(sample(logits, {}, i, 1));
    EXPECT_EQ(sample(logits, {}, 1, i), sample(logits, {}, 1, i));
  }
  EXPECT_GT(by_number.size(), 40U);
  EXPECT_GT(by_key.size(), 40U);
}

TEST(Sampling, RefusesInOneSentence) {
  const std::vector<float> fine{1, 2};
  expect_error<ValueError>([&] { sample(fine, {.temperature = 0}, 1, 1); },
                           "sample: the temperature is not above 0: 0. Use greedy for the most "
                           "probable token.");
  expect_error<ValueError>([&] { sample(fine, {.top_k = -1}, 1, 1); },
                           "sample: top_k is below 0: -1. Use 1 or more, or 0 for all.");
  for (const double p : {0.0, 1.5, std::nan("")})
    EXPECT_TRUE(error_of<ValueError>([&] {
                  sample(fine, {.top_p = p}, 1, 1);
                }).starts_with("sample: top_p is not above 0 and at most 1: "));
  expect_error<ValueError>([&] { sample({}, {}, 1, 1); },
                           "sample: there are no scores. Give one for each token.");
  expect_error<NumericError>(
      [&] {
        sample(std::vector<float>{0, NAN}, {}, 1, 1);
      },
      "sample: the score of token 1 is nan. Look at the model's weights.");
  expect_error<NumericError>([&] { sample(std::vector<float>{kInfinite}, {}, 1, 1); },
                             "sample: the score of token 0 is inf. Look at the model's weights.");
  expect_error<NumericError>([&] { sample(std::vector<float>(2, -kInfinite), {}, 1, 1); },
                             "sample: all 2 scores are -infinity. Look at the model's weights.");
}

}  // namespace
}  // namespace plimsoll::nn
