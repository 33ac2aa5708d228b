// Byte pair encoding: pieces against examples of GPT-2's pattern, and ids against those that the
// pip packages tokenizers and tiktoken give (tests/bpe_reference.py); skipped where they are
// missing, and for GPT-2's own vocabulary where PLIMSOLL_DATA names no folder with gpt2-tokenizer/.
#include <chrono>
#include <cstdlib>

#include "data/bpe_files.h"
#include "data/builtin_text.h"
#include "data/pretokenize.h"
#include "data/random.h"
#include "tests/data_testing.h"
#include "tests/python.h"

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

std::vector<std::string> read_records(const std::string& path, size_t element) {
  const std::string bytes = read_text(path);
  std::vector<std::string> records;
  for (size_t at = 0; at < bytes.size();) {
    uint32_t count = 0;
    std::memcpy(&count, &bytes[at], 4);
    records.push_back(bytes.substr(at + 4, count * element));
    at += 4 + count * element;
  }
  return records;
}

// Texts of words, blanks, digits, signs, emoji and scripts in every order.
std::vector<std::string> random_texts(int count) {
  constexpr const char* kParts[] = {
      " ",        "  ",     "\n",         "\t",      "\r\n",   "\u00A0",   "\u3000",
      "the",      "The",    "'s",         "'ll",     "'",      "\"",       "12",
      "7",        "!",      "...",        "-->",     "{",      "_",        "naïve",
      "Straße",   "日本",   "한국어",     "العربية", "हिन्दी",  "ελληνικά", "😀",
      "👩\u200D👩", "\u0301", "½",          "Ⅷ",       "٣",      "\x01",     "\x7f",
      "\u0085",   "\u2028", "\U0001F1E9", "\uE000",  "\u200B", "ing",      "<|endoftext|>",
      "zzzzzzzz"};
  std::vector<std::string> texts;
  Random random(3, 4);
  for (int i = 0; i < count; ++i) {
    std::string text;
    for (int64_t n = random.index(30); n >= 0; --n)
      text += kParts[random.index(std::ssize(kParts))];
    texts.push_back(text);
  }
  return texts;
}

// Ids of many texts, ours and theirs, with the vocabulary in `folder`.
void expect_same_ids(const std::string& library, const std::filesystem::path& folder,
                     const TemporaryFolder& dir) {
  NEEDS_PYTHON(library);
  const auto refer = [](std::vector<std::string> arguments) {
    const python::Outcome outcome = python::run("bpe_reference.py", std::move(arguments));
    ASSERT_EQ(outcome.code, 0) << outcome.output;
  };
  refer({"characters", dir.text("characters")});
  std::vector<std::string> texts = read_records(dir.text("characters"), 1);
  ASSERT_GT(texts.size(), size_t{10'000});
  for (const std::string& text : random_texts(3000)) texts.push_back(text);
  const std::string sources = read_sources(source_folder());
  texts.push_back(sources);
  for (size_t i = 0; i + 2000 < sources.size(); i += 20'000) {
    std::string part = sources.substr(i, 2000);
    std::erase_if(part, [](char c) { return static_cast<uint8_t>(c) >= 128; });  // may be cut
    texts.push_back(part);
  }
  texts.push_back(std::string(3000, ' ') + std::string(3000, 'x') + std::string(3000, '\n'));
  std::string packed;
  for (const std::string& text : texts) {
    const auto size = static_cast<uint32_t>(text.size());
    packed.append(reinterpret_cast<const char*>(&size), 4);
    packed += text;
  }
  dir.write("texts", packed);
  refer({library, folder.string(), dir.text("texts"), dir.text("ids")});
  const BytePairEncoding bpe = load_tokenizer(folder);
  const std::vector<std::string> expected = read_records(dir.text("ids"), 4);
  ASSERT_EQ(expected.size(), texts.size());
  int different = 0;
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::vector<int32_t> ids = bpe.encode(texts[i]);
    const std::string bytes(reinterpret_cast<const char*>(ids.data()), ids.size() * 4);
    if (bytes != expected[i] && ++different <= 3) ADD_FAILURE() << "text " << i << ": " << texts[i];
    ASSERT_EQ(bpe.decode(ids), texts[i]);
  }
  EXPECT_EQ(different, 0) << "of " << texts.size();
}

TEST(DataBpe, ATrainedVocabularyGivesTheIdsOfTokenizers) {
  NEEDS_PYTHON("tokenizers");
  const TemporaryFolder dir;
  dir.write("text", read_sources(source_folder()));
  const python::Outcome outcome =
      python::run("bpe_reference.py", {"train", dir.text("text"), dir.path().string()});
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  expect_same_ids("tokenizers", dir.path(), dir);
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
  const TemporaryFolder dir;
  expect_same_ids(GetParam(), folder_, dir);
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
