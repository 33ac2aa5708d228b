// Passages: words, labels and batches of the text classification task.
#include "data/text/passages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/support/errors.h"

namespace plimsoll::data {
namespace {

// 1,000 words "w0 w1 ...", so that a word says where it stands.
TextDataset numbered(int words) {
  std::string text;
  for (int i = 0; i < words; ++i) text += "w" + std::to_string(i) + (i % 7 == 0 ? "\n" : " ");
  return split_text("numbered", text);
}

TEST(DataPassages, PartsAreCutInOrder) {
  const PassageDataset task = make_passages(numbered(1000), {.vocabulary = 1 << 30});
  std::set<int32_t> distinct;
  for (int64_t label = 0; label < kPassageClasses; ++label) {
    EXPECT_EQ(task.train[label].size(), 90U);
    EXPECT_EQ(task.test[label].size(), 10U);
    distinct.insert(task.train[label].begin(), task.train[label].end());
    distinct.insert(task.test[label].begin(), task.test[label].end());
  }
  EXPECT_EQ(distinct.size(), 1000U);
}

TEST(DataPassages, PunctuationIsAWordAndSpacesAreNone) {
  const std::string text = "a_1(b);  \n";
  std::string repeated;
  for (int i = 0; i < 10; ++i) repeated += text;
  const PassageDataset task = make_passages(split_text("t", repeated), {.vocabulary = 1 << 30});
  EXPECT_EQ(task.train[0].size() + task.test[0].size(), 5U);  // a_1 ( b ) ;
}

TEST(DataPassages, EveryBatchComesFromThePartItNames) {
  const PassageDataset task = make_passages(numbered(1000), {.vocabulary = 1 << 30});
  const Batch batch = random_passages(task, {.batch = 64, .context = 8}, 1, 2);
  const auto x = batch.x.to_vector<int64_t>(), y = batch.y.to_vector<int64_t>();
  for (size_t row = 0; row < y.size(); ++row) {
    const auto& words = task.train[static_cast<size_t>(y[row])];
    EXPECT_NE(
        std::search(words.begin(), words.end(), x.begin() + 8 * row, x.begin() + 8 * (row + 1)),
        words.end());
  }
  const Batch again = random_passages(task, {.batch = 64, .context = 8}, 1, 2);
  EXPECT_EQ(again.x.to_vector<int64_t>(), x);
  EXPECT_NE(random_passages(task, {.batch = 64, .context = 8}, 1, 3).x.to_vector<int64_t>(), x);
}

TEST(DataPassages, TestBatchesCoverEveryPart) {
  const PassageDataset task = make_passages(numbered(1000));
  const WindowAttrs attrs{.batch = 8, .context = 3};
  ASSERT_EQ(test_passage_batches(task, attrs), 4);  // 10 parts of 3 passages
  std::vector<int64_t> labels;
  for (int64_t i = 0; i < 4; ++i) {
    const auto y = test_passages(task, attrs, i).y.to_vector<int64_t>();
    labels.insert(labels.end(), y.begin(), y.end());
  }
  ASSERT_EQ(labels.size(), 30U);
  for (size_t i = 0; i < labels.size(); ++i) EXPECT_EQ(labels[i], static_cast<int64_t>(i / 3));
}

TEST(DataPassages, RefusesWhatIsTooShortOrTooLarge) {
  expect_error<DataError>(
      [] { random_passages(make_passages(numbered(100)), {.batch = 1, .context = 20}, 0, 0); },
      "passages: numbered is too short: a part has 9 words for passages of 20. Use a longer text "
      "or "
      "a smaller context.");
  expect_error<ValueError>(
      [] {
        const PassageDataset task = make_passages(numbered(1000));
        random_passages(task, {.batch = 100'000'000'000'000, .context = 4}, 0, 0);
      },
      "passages: the batch is too large: 100000000000000 of 4 tokens each, at most 2147483648 in "
      "all. Use a smaller batch.");
  expect_error<ValueError>(
      [] { make_passages(numbered(100), {.vocabulary = int64_t{1} << 31}); },
      "passages: the vocabulary must be 1 to 2147483647: 2147483648. Pass one of these.");
}

}  // namespace
}  // namespace plimsoll::data
