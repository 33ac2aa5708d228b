// Character-level text: vocabulary, split, random and evaluation windows.
#include "data/text/text.h"

#include "core/tensor/storage.h"
#include "tests/data/testing.h"

namespace plimsoll::data {
namespace {

const std::string kHundred = [] {
  std::string text;
  for (int i = 0; i < 100; ++i) text.push_back(static_cast<char>(i));  // token i is byte i
  return text;
}();

TEST(DataText, TheVocabularyIsTheSortedDistinctBytes) {
  const Vocabulary vocabulary("hello \xff");
  EXPECT_EQ(vocabulary.size(), 6);  // space e h l o \xff
  EXPECT_EQ(vocabulary.encode("hel\xff o"), (std::vector<uint8_t>{2, 1, 3, 5, 0, 4}));
  EXPECT_EQ(vocabulary.decode(std::vector<int64_t>{2, 1, 3, 3, 4, 5}), "hello\xff");
}

TEST(DataText, AllBytesAreCharacters) {
  std::string all;
  for (int byte = 255; byte >= 0; --byte) all.push_back(static_cast<char>(byte));
  const Vocabulary vocabulary(all);
  EXPECT_EQ(vocabulary.size(), 256);
  const std::vector<uint8_t> tokens = vocabulary.encode(all);
  EXPECT_EQ(vocabulary.decode(std::vector<int64_t>(tokens.begin(), tokens.end())), all);
}

TEST(DataText, RefusesWhatIsNotInTheVocabulary) {
  const Vocabulary vocabulary("ab");
  EXPECT_EQ(error_of<ValueError>([&] { vocabulary.encode("abc"); }),
            "encode: a byte is not in the vocabulary: byte 99 at position 2 of 3. "
            "Use only characters of the training text.");
  for (const int64_t token : {-1, 2})
    EXPECT_EQ(
        error_of<IndexError>([&] { vocabulary.decode(std::vector{token}); }),
        cat("decode: there is no such token: ", token, " of 2. Pass tokens of this vocabulary."));
  EXPECT_EQ(error_of<DataError>([] { Vocabulary(""); }),
            "vocabulary: the text is empty. Use a file with some text.");
}

TEST(DataText, TheLastTenthIsForValidation) {
  const TextDataset text = split_text("t", std::string(18, 'a') + "bc");
  EXPECT_EQ(text.vocabulary.size(), 3);
  EXPECT_EQ(text.train, std::vector<uint8_t>(18, 0));
  EXPECT_EQ(text.validation, (std::vector<uint8_t>{1, 2}));
  EXPECT_EQ(error_of<DataError>([] { split_text("t", ""); }),
            "text: it is empty: t. Use a file with some text.");
}

TEST(DataText, WindowsAreFollowedByTheirNextCharacters) {
  const TextDataset text = split_text("t", kHundred);
  std::vector<int> seen(90);
  for (uint64_t step = 0; step < 200; ++step) {
    const Batch batch = random_windows(text.train, {.batch = 4, .context = 8}, 1, step);
    ASSERT_EQ(batch.x.shape(), (Shape{4, 8}));
    ASSERT_EQ(batch.y.shape(), (Shape{4, 8}));
    const auto x = batch.x.to_vector<int64_t>(), y = batch.y.to_vector<int64_t>();
    for (size_t i = 0; i < x.size(); ++i) {
      ASSERT_EQ(x[i], x[i / 8 * 8] + static_cast<int64_t>(i % 8));
      ASSERT_EQ(y[i], x[i] + 1);
      ++seen[static_cast<size_t>(y[i])];
    }
  }
  EXPECT_EQ(seen[0], 0);                                                // nothing comes before it
  for (size_t i = 1; i < seen.size(); ++i) EXPECT_GT(seen[i], 0) << i;  // 89: the last place too
}

TEST(DataText, WindowsAreAFunctionOfKeyAndStep) {
  const TextDataset text = split_text("t", kHundred);
  const auto draw = [&](uint64_t key, uint64_t step) {
    return random_windows(text.train, {.batch = 8, .context = 4}, key, step).x.to_vector<int64_t>();
  };
  const auto first = draw(1, 0);
  draw(3, 3);
  EXPECT_EQ(draw(1, 0), first);
  EXPECT_NE(draw(1, 1), first);
  EXPECT_NE(draw(2, 0), first);
}

TEST(DataText, EvaluationCoversTheTextOnce) {
  const std::vector<uint8_t> tokens = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  const WindowAttrs attrs{.batch = 2, .context = 4};
  ASSERT_EQ(evaluation_batches(tokens, attrs), 2);  // 3 windows
  const Batch first = evaluation_windows(tokens, attrs, 0);
  const Batch second = evaluation_windows(tokens, attrs, 1);
  EXPECT_EQ(first.x.to_vector<int64_t>(), (std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(first.y.to_vector<int64_t>(), (std::vector<int64_t>{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(second.x.shape(), (Shape{1, 4}));
  EXPECT_EQ(second.y.to_vector<int64_t>(), (std::vector<int64_t>{9, 10, 11, 12}));
  EXPECT_EQ(error_of<IndexError>([&] { evaluation_windows(tokens, attrs, 2); }),
            "windows: there is no such batch: 2 of 2. Count from 0.");
}

TEST(DataText, RefusesTextsThatAreTooShort) {
  const std::vector<uint8_t> tokens(8);
  EXPECT_EQ(random_windows(tokens, {.batch = 3, .context = 7}, 1, 0).x.shape(), (Shape{3, 7}));
  const std::string text =
      "windows: the text is shorter than a window and its next token: 8 tokens for context 8. "
      "Use more text or a smaller context.";
  EXPECT_EQ(error_of<DataError>([&] { random_windows(tokens, {1, 8}, 1, 0); }), text);
  EXPECT_EQ(error_of<DataError>([&] { evaluation_batches(tokens, {1, 8}); }), text);
  EXPECT_EQ(error_of<ValueError>([&] {
              random_windows(tokens, {0, 8}, 1, 0);
            }),
            "windows: batch and context must be at least 1: batch 0, context 8. "
            "Pass larger ones.");
  EXPECT_THROW(evaluation_batches(tokens, {1, 0}), ValueError);
  EXPECT_THROW(random_windows(tokens, {1, INT64_MAX}, 1, 0), DataError);
  constexpr WindowAttrs huge{.batch = 100'000'000'000'000, .context = 4};
  const std::string refusal =
      "windows: the batch is too large: 100000000000000 of 4 tokens each, at most 2147483648 in "
      "all. Use a smaller batch.";
  EXPECT_EQ(error_of<ValueError>([&] { random_windows(tokens, huge, 1, 0); }), refusal);
  EXPECT_EQ(error_of<ValueError>([&] { evaluation_windows(tokens, huge, 0); }), refusal);
}

TEST(DataText, WindowsAreInputs) {
  const Batch batch = random_windows(std::vector<uint8_t>(8), {.batch = 1, .context = 2}, 1, 0);
  EXPECT_EQ(batch.x.value().storage->memory_class(), MemoryClass::input);
  EXPECT_EQ(batch.y.value().storage->memory_class(), MemoryClass::input);
}

}  // namespace
}  // namespace plimsoll::data
