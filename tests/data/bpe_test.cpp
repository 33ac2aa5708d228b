// Byte pair encoding: pieces against examples of GPT-2's pattern, and ids against those that the
// pip package tokenizers gives (tests/data/bpe_reference.py); skipped where it is missing, and for
// GPT-2's own vocabulary where PLIMSOLL_DATA names no folder with gpt2-tokenizer/.
#include <chrono>
#include <cstdlib>

#include "data/text/pretokenize.h"
#include "tests/data/bpe_testing.h"

namespace plimsoll::data {
namespace {

std::vector<std::string> pieces(std::string_view text) {
  std::vector<std::string> all;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = piece_end(text, begin, Cut::gpt2);
    all.emplace_back(text.substr(begin, end - begin));
    begin = end;
  }
  return all;
}

TEST(DataPretokenize, CutsAsThePatternSays) {
  using Pieces = std::vector<std::string>;
  EXPECT_EQ(pieces("Hello, world's 12 'ts"),
            (Pieces{"Hello", ",", " world", "'s", " 12", " '", "ts"}));
  EXPECT_EQ(pieces("we'll they'VE I'm'd''re"),
            (Pieces{"we", "'ll", " they", "'", "VE", " I", "'m", "'d", "''", "re"}));
  EXPECT_EQ(pieces("a  b\n\n c \t\n"), (Pieces{"a", " ", " b", "\n\n", " c", " \t\n"}));
  EXPECT_EQ(pieces("a\nb\t c"), (Pieces{"a", "\n", "b", "\t", " c"}));
  EXPECT_EQ(pieces("  "), (Pieces{"  "}));
  EXPECT_EQ(pieces(" "), (Pieces{" "}));
  EXPECT_EQ(pieces("naïve x² ٣ Ⅷ 日本語!"),
            (Pieces{"naïve", " x", "²", " ٣", " Ⅷ", " 日本語", "!"}));
  // No-break and ideographic spaces are \s, and only ' ' joins what follows.
  EXPECT_EQ(pieces("a\u00A0b\u3000\u3000c"), (Pieces{"a", "\u00A0", "b", "\u3000", "\u3000", "c"}));
  EXPECT_EQ(pieces("\u200Bé\u0301"), (Pieces{"\u200B", "é", "\u0301"}));  // zero width: no \s
  EXPECT_EQ(pieces("a\xff\xc3 \xed\xa0\x80z"), (Pieces{"a", "\xff\xc3", " \xed\xa0\x80", "z"}));
  EXPECT_TRUE(pieces("").empty());
}

// The 256 bytes, in their order, and what `more` says.
BytePairEncoding tiny(const std::vector<std::string>& more, const std::vector<Merge>& merges,
                      BpeAttrs attrs = {}) {
  std::vector<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte) tokens.emplace_back(1, static_cast<char>(byte));
  tokens.insert(tokens.end(), more.begin(), more.end());
  return {tokens, merges, std::move(attrs)};
}

TEST(DataBpe, MergesTheLowestRankFirstAndTheLeftmostOfThem) {
  const BytePairEncoding bpe =
      tiny({"bc", "ab", "aa", "aaaa"},
           {{'b', 'c', 256}, {'a', 'b', 257}, {'a', 'a', 258}, {258, 258, 259}});
  using Ids = std::vector<int32_t>;
  EXPECT_EQ(bpe.encode("abc"), (Ids{'a', 256}));
  EXPECT_EQ(bpe.encode("abbc"), (Ids{257, 256}));
  EXPECT_EQ(bpe.encode("aaa"), (Ids{258, 'a'}));
  EXPECT_EQ(bpe.encode("aaaaaaaa"), (Ids{259, 259}));
  EXPECT_EQ(bpe.encode("aaaaaab"), (Ids{259, 'a', 257}));
  EXPECT_EQ(bpe.encode("a a"), (Ids{'a', ' ', 'a'}));
  EXPECT_EQ(bpe.encode(""), (Ids{}));
  EXPECT_EQ(bpe.find("ab"), 257);
  EXPECT_EQ(bpe.find("abc"), std::nullopt);
}

TEST(DataBpe, AnyBytesComeBack) {
  const BytePairEncoding bpe = tiny({"\xff\xfe"}, {{0xff, 0xfe, 256}});
  Random random(1, 2);
  for (int round = 0; round < 200; ++round) {
    std::string text;
    for (int i = 0; i < 100; ++i) text += static_cast<char>(random.index(256));
    EXPECT_EQ(bpe.decode(bpe.encode(text)), text);
  }
  EXPECT_EQ(bpe.encode("\xff\xfe\xff"), (std::vector<int32_t>{256, 255}));
  for (const int32_t id : {-1, 257})
    EXPECT_EQ(error_of<IndexError>([&] { bpe.decode(std::vector{id}); }),
              cat("decode: there is no such token: ", id, " of 257. Pass ids of this tokenizer."));
}

TEST(DataBpe, ALongPieceTakesAboutItsLength) {
  const BytePairEncoding bpe = tiny({"aa", "aaaa"}, {{'a', 'a', 256}, {256, 256, 257}});
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(bpe.encode(std::string(1 << 20, 'a')), std::vector<int32_t>(1 << 18, 257));
  // 10^12 comparisons would take minutes.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST(DataBpe, ATrainedVocabularyGivesTheIdsOfTokenizers) {
  NEEDS_PYTHON("tokenizers");
  const TemporaryFolder dir;
  dir.write("text", read_sources(source_folder()));
  refer({"train", dir.text("text"), dir.path().string()});
  std::filesystem::remove(dir / "tokenizer.json");  // would be read instead
  expect_same_ids(dir.path(), many_texts(dir), dir);
}

TEST(DataBpe, AWholePieceThatIsATokenIsOneWhereThatIsAsked) {
  // Nothing leads from a, b and c to abc.
  const std::vector<std::string> tokens{"abc", " abc", "bcb"};
  const BytePairEncoding bpe = tiny(tokens, {}, {.whole_pieces = true});
  using Ids = std::vector<int32_t>;
  EXPECT_EQ(bpe.encode("abc abc"), (Ids{256, 257}));
  EXPECT_EQ(bpe.encode("abcb"), (Ids{'a', 'b', 'c', 'b'}));
  EXPECT_EQ(tiny(tokens, {}).encode("abc"), (Ids{'a', 'b', 'c'}));
}

// All words of up to five letters a and b, half of them tokens, in any order: many are reached by
// no merge, and many by two that stand side by side.
std::vector<std::string> random_tokens(Random& random) {
  std::vector<std::string> tokens;
  for (size_t size = 2; size <= 5; ++size)
    for (size_t bits = 0; bits < size_t{1} << size; ++bits) {
      if (random.index(2) == 0) continue;
      std::string& token = tokens.emplace_back();
      for (size_t i = 0; i < size; ++i) token += static_cast<char>('a' + (bits >> i & 1));
    }
  for (int64_t i = std::ssize(tokens) - 1; i > 0; --i)
    std::swap(tokens[i], tokens[random.index(i + 1)]);
  return tokens;
}

std::vector<std::string> random_words(Random& random) {
  std::vector<std::string> words(200);
  for (std::string& word : words)
    for (int64_t n = random.index(20); n >= 0; --n)
      word += static_cast<char>('a' + random.index(2));
  return words;
}

// All merges that make one of `tokens` from two others or from bytes, in the order of `tokens`.
std::vector<Merge> all_merges(const std::vector<std::string>& tokens) {
  const auto id_of = [&](const std::string& token) {
    if (token.size() == 1) return static_cast<int32_t>(token[0]);
    const auto place = std::ranges::find(tokens, token);
    return place == tokens.end() ? -1 : static_cast<int32_t>(256 + (place - tokens.begin()));
  };
  std::vector<Merge> merges;
  for (const std::string& token : tokens)
    for (size_t cut = 1; cut < token.size(); ++cut) {
      const int32_t left = id_of(token.substr(0, cut)), right = id_of(token.substr(cut));
      if (left >= 0 && right >= 0) merges.push_back({left, right, id_of(token)});
    }
  return merges;
}

// Slowly: a token is itself; else, again and again, the neighbours that make the token of the
// lowest number become it.
std::vector<int32_t> by_definition(const std::vector<std::string>& tokens,
                                   const std::string& piece) {
  const auto rank_of = [&](const std::string& token) {
    const auto place = std::ranges::find(tokens, token);
    return place == tokens.end() ? INT32_MAX : static_cast<int32_t>(256 + (place - tokens.begin()));
  };
  if (rank_of(piece) != INT32_MAX) return {rank_of(piece)};
  std::vector<std::string> parts;
  for (const char c : piece) parts.emplace_back(1, c);
  for (;;) {
    size_t best = 0;
    int32_t lowest = INT32_MAX;
    for (size_t i = 0; i + 1 < parts.size(); ++i)
      if (const int32_t rank = rank_of(parts[i] + parts[i + 1]); rank < lowest)
        best = i, lowest = rank;
    if (lowest == INT32_MAX) break;
    parts[best] += parts[best + 1];
    parts.erase(parts.begin() + static_cast<int64_t>(best) + 1);
  }
  std::vector<int32_t> ids;
  for (const std::string& part : parts) ids.push_back(part.size() == 1 ? part[0] : rank_of(part));
  return ids;
}

TEST(DataBpe, TokensInAnyOrderGiveWhatTheDefinitionSays) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Random random(5, seed);
    const std::vector<std::string> tokens = random_tokens(random);
    const BytePairEncoding bpe = tiny(tokens, all_merges(tokens), {.whole_pieces = true});
    for (const std::string& word : random_words(random))
      ASSERT_EQ(bpe.encode(word), by_definition(tokens, word)) << seed << " " << word;
  }
}

class DataGpt2 : public testing::Test {
 protected:
  void SetUp() override {
    const char* data = std::getenv("PLIMSOLL_DATA");
    if (!data || !std::filesystem::exists(std::filesystem::path(data) / "gpt2-tokenizer"))
      GTEST_SKIP() << "set PLIMSOLL_DATA to a folder that holds gpt2-tokenizer/";
    folder_ = std::filesystem::path(data) / "gpt2-tokenizer";
  }
  std::filesystem::path folder_;
};

TEST_F(DataGpt2, IdsAreThoseOfTokenizers) {
  NEEDS_PYTHON("tokenizers");
  const TemporaryFolder dir;
  expect_same_ids(folder_, many_texts(dir), dir);
}

TEST_F(DataGpt2, FilesAreReadAsPublished) {
  const BytePairEncoding bpe = load_tokenizer(folder_);
  EXPECT_EQ(bpe.size(), 50257);
  EXPECT_EQ(bpe.find("<|endoftext|>"), 50256);
  EXPECT_EQ(bpe.encode("Hello, world"), (std::vector<int32_t>{15496, 11, 995}));
  for (const std::string& text : random_texts(2000)) EXPECT_EQ(bpe.decode(bpe.encode(text)), text);
}

}  // namespace
}  // namespace plimsoll::data
