// Byte pair encoding: pieces against examples of GPT-2's pattern, and ids against those that the
// pip packages tokenizers and tiktoken give (tests/bpe_reference.py); skipped where they are
// missing, and for GPT-2's own vocabulary where PLIMSOLL_DATA names no folder with gpt2-tokenizer/.
#include <chrono>
#include <cstdlib>

#include "data/pretokenize.h"
#include "tests/bpe_testing.h"

namespace plimsoll::data {
namespace {

std::vector<std::string> pieces(std::string_view text) {
  std::vector<std::string> all;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = piece_end(text, begin);
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
BytePairEncoding tiny(const std::vector<std::string>& more, const std::vector<Merge>& merges) {
  std::vector<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte) tokens.emplace_back(1, static_cast<char>(byte));
  tokens.insert(tokens.end(), more.begin(), more.end());
  return {tokens, merges};
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
  expect_same_ids("tokenizers", dir.path(), many_texts(dir), dir);
}

// Byte after byte as 0 ... 255, then `tokens`, each with the next rank.
std::string ranks_of(const std::vector<std::string>& tokens) {
  std::string text;
  for (int rank = 0; rank < 256; ++rank)
    text += cat(base64(std::string(1, static_cast<char>(rank))), " ", rank, "\n");
  for (size_t i = 0; i < tokens.size(); ++i) text += cat(base64(tokens[i]), " ", 256 + i, "\n");
  return text;
}

TEST(DataBpe, APieceOfARanksFileThatIsATokenIsOne) {
  // Nothing leads from a, b and c to abc.
  const BytePairEncoding bpe = parse_ranks(ranks_of({"abc", " abc", "bcb"}), "r");
  using Ids = std::vector<int32_t>;
  EXPECT_EQ(bpe.encode("abc abc"), (Ids{256, 257}));
  EXPECT_EQ(bpe.encode("abcb"), (Ids{'a', 'b', 'c', 'b'}));
  EXPECT_EQ(tiny({"abc"}, {}).encode("abc"), (Ids{'a', 'b', 'c'}));
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

// As the format says it, slowly: a token is itself; else, again and again, the neighbours that make
// the token of the lowest rank become it.
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

TEST(DataBpe, RanksInAnyOrderGiveWhatTheFormatSays) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Random random(5, seed);
    const std::vector<std::string> tokens = random_tokens(random);
    const BytePairEncoding bpe = parse_ranks(ranks_of(tokens), "r");
    for (const std::string& word : random_words(random))
      ASSERT_EQ(bpe.encode(word), by_definition(tokens, word)) << seed << " " << word;
  }
}

TEST(DataBpe, RanksInAnyOrderGiveTheIdsOfTiktoken) {
  for (uint64_t seed = 0; seed < 3; ++seed) {
    Random random(6, seed);
    const TemporaryFolder dir;
    const auto file = dir.write("r.tiktoken", ranks_of(random_tokens(random)));
    expect_same_ids("tiktoken", file, random_words(random), dir);
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

class DataGpt2Ids : public DataGpt2, public testing::WithParamInterface<const char*> {};

TEST_P(DataGpt2Ids, AreThoseOf) {
  NEEDS_PYTHON(GetParam());
  const TemporaryFolder dir;
  expect_same_ids(GetParam(), folder_, many_texts(dir), dir);
}
INSTANTIATE_TEST_SUITE_P(Data, DataGpt2Ids, testing::Values("tokenizers", "tiktoken"),
                         [](const auto& info) { return std::string(info.param); });

TEST_F(DataGpt2, ARanksFileIsTheSameTokenizer) {
  const TemporaryFolder dir;
  const BytePairEncoding bpe = load_tokenizer(folder_);
  EXPECT_EQ(bpe.size(), 50257);
  EXPECT_EQ(bpe.find("<|endoftext|>"), 50256);
  EXPECT_EQ(bpe.encode("Hello, world"), (std::vector<int32_t>{15496, 11, 995}));
  std::string ranks;
  for (int32_t id = 0; id < 50256; ++id)
    ranks += cat(base64(bpe.decode(std::vector{id})), " ", id, "\n");
  const BytePairEncoding same = load_tokenizer(dir.write("gpt2.tiktoken", ranks));
  EXPECT_EQ(same.size(), 50256);
  for (const std::string& text : random_texts(2000)) EXPECT_EQ(same.encode(text), bpe.encode(text));
  const std::string sources = read_sources(source_folder());
  EXPECT_EQ(same.encode(sources), bpe.encode(sources));
}

}  // namespace
}  // namespace plimsoll::data
