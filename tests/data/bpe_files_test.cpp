// Files of tokenizers: what they say, and that every damaged one is refused in a sentence that
// names the place.
#include "data/text/bpe_files.h"

#include "data/random.h"
#include "tests/data/testing.h"

namespace plimsoll::data {
namespace {

const std::vector<std::string> kMore{"\\u0120t", "he", "Ġthe", "<|end of text|>"};
const std::string kMerges = "#version: 0.2\nĠ t\nh e\r\nĠt he\n";

struct Folder : TemporaryFolder {
  Folder(const std::string& json, const std::string& merges) {
    write("vocab.json", json);
    write("merges.txt", merges);
  }
  std::string error() const {
    return error_of<DataError>([&] { load_tokenizer(path()); });
  }
};

TEST(DataBpeFiles, ReadsAVocabularyAndItsMerges) {
  const BytePairEncoding bpe = load_tokenizer(Folder(byte_vocabulary(kMore), kMerges).path());
  EXPECT_EQ(bpe.size(), 260);
  EXPECT_EQ(bpe.encode(" the!"), (std::vector<int32_t>{258, 0}));
  EXPECT_EQ(bpe.encode(" he"), (std::vector<int32_t>{' ' - 33 + 256, 257}));
  EXPECT_EQ(bpe.decode(std::vector<int32_t>{258, 259}), " the<|end of text|>");
  EXPECT_EQ(bpe.find("<|end of text|>"), 259);
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  EXPECT_EQ(bpe.decode(bpe.encode(all)), all);
}

TEST(DataBpeFiles, RefusesADamagedVocabulary) {
  const auto refusal = [](const std::string& json) {
    return error_of<DataError>([&] { parse_vocabulary(json, "v.json"); });
  };
  const std::string published = ". Use the file as it was published.";
  const std::string cut = byte_vocabulary(kMore).substr(0, 100);
  EXPECT_EQ(refusal(cut), "tokenizer: the JSON cannot be read: v.json at byte 101" + published);
  EXPECT_EQ(refusal("{\"a\": 0} x"),
            "tokenizer: the JSON cannot be read: v.json at byte 10" + published);
  EXPECT_EQ(refusal("{\"\xff\": 0}"),
            "tokenizer: the JSON cannot be read: v.json at byte 3" + published);
  for (const char* json : {"", "[0]", "7", "\"a\"", "null"})
    EXPECT_EQ(refusal(json), "tokenizer: this is no JSON object: v.json" + published);
  EXPECT_EQ(refusal(R"({"a": 0, "a": 1})"),
            "tokenizer: a key is there twice: v.json has \"a\"" + published);
  for (const char* id : {"-1", "1.5", "2147483648", "1e30", "null", "true", "\"1\"", "[1]", "{}",
                         "18446744073709551615", "99999999999999999999999"})
    EXPECT_EQ(refusal(cat("{\"a\": 0, \"b\": ", id, "}")),
              "tokenizer: the id of a token is no whole number from 0 to 2^31 - 1: v.json after "
              "token \"b\"" +
                  published);
  EXPECT_EQ(refusal(R"({"a": 0, "b": 4})"),
            "tokenizer: an id is far from the others: v.json gives 4 to one of 2 tokens. "
            "Use ids that begin at 0.");
  EXPECT_EQ(refusal(R"({"a": 1, "b": 1})"),
            "tokenizer: two tokens have one id: v.json gives 1 to \"a\" and \"b\"" + published);
  EXPECT_EQ(refusal(R"({"a": 1, "": 0})"),
            "tokenizer: a token has no characters: v.json gives 0 to it" + published);
  // Deep and long nonsense is refused where it becomes too deep.
  EXPECT_EQ(refusal("{\"a\": " + std::string(1 << 20, '[')),
            "tokenizer: the JSON is nested more than 8 deep: v.json" + published);
}

TEST(DataBpeFiles, RefusesDamagedMerges) {
  const auto refusal = [](const std::string& merges) {
    const Folder folder(byte_vocabulary(kMore), merges);
    std::string text = folder.error();
    const size_t at = text.find(folder.path().string());
    return at == std::string::npos ? text : text.erase(at, folder.path().string().size() + 1);
  };
  const auto not_two = [](int line, const char* text) {
    return cat("tokenizer: this is not two words: merges.txt line ", line, ": \"", text,
               "\". Use the file as it was published.");
  };
  EXPECT_EQ(refusal("#version: 0.2\nĠ t\nhe\n"), not_two(3, "he"));
  EXPECT_EQ(refusal("h  e\n"), not_two(1, "h  e"));
  EXPECT_EQ(refusal("Ġ t\n\n h\n"), not_two(3, " h"));
  EXPECT_EQ(refusal("h e x"), not_two(1, "h e x"));
  EXPECT_EQ(refusal(std::string(1000, '\x01')), not_two(1, (std::string(40, '?') + "...").c_str()));
  for (const char* merge : {"h h", "hh e", "h 日", "h \xff"})
    EXPECT_EQ(refusal(cat("Ġ t\n", merge, "\n")),
              cat("tokenizer: a merge is not of tokens in the vocabulary: merges.txt line 2: \"",
                  merge, "\". Use files that belong together."));
  const Folder twice(byte_vocabulary(kMore), "h e\nĠ t\nh e\n");
  EXPECT_EQ(twice.error(), cat("tokenizer: ", twice.path().string(),
                               ": bpe: merge 2 is there twice: 71 and 68. "
                               "Use a file without repetitions."));
}

TEST(DataBpeFiles, RefusesWhatIsNotByteLevel) {
  const Folder folder(R"({"a": 0, "b": 1, "ab": 2})", "a b\n");
  EXPECT_EQ(folder.error(), cat("tokenizer: ", folder.path().string(),
                                ": bpe: there is no token for byte 0. "
                                "Use a byte-level vocabulary, which has one for each."));
  // A key with another character than bytes have is a text as it is: "\u0120 " and " " are one.
  const std::string again = byte_vocabulary({" "});
  const Folder twice(again, "h e\n");
  EXPECT_EQ(twice.error(), cat("tokenizer: a token is there twice: ", twice.text("merges.txt"),
                               " gives it the ids 255 and 256. "
                               "Use the file as it was published."));
}

TEST(DataBpeFiles, RefusesWhatIsNotThere) {
  const TemporaryFolder dir;
  EXPECT_THROW(load_tokenizer(dir / "none"), DataError);
  EXPECT_THROW(load_tokenizer(dir.path()), DataError);  // no vocab.json
}

TEST(DataBpeFiles, DamageIsRefusedOrHarmless) {
  const std::string json = byte_vocabulary(kMore);
  Random random(1, 1);
  const auto damaged = [&](std::string text) {
    for (int64_t n = random.index(4); n >= 0 && !text.empty(); --n) {
      const auto place = static_cast<size_t>(random.index(std::ssize(text)));
      switch (random.index(4)) {
        case 0:
          text[place] = static_cast<char>(random.index(256));
          break;
        case 1:
          text.erase(place, static_cast<size_t>(random.index(9)));
          break;
        case 2:
          text.insert(place, text, place / 2, 5);
          break;
        case 3:
          text.resize(place);
          break;
      }
    }
    return text;
  };
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    try {
      const std::vector<std::string> tokens =
          parse_vocabulary(round % 2 == 0 ? damaged(json) : json, "v");
      const BytePairEncoding bpe(tokens, parse_merges(damaged(kMerges), "m", tokens));
      EXPECT_EQ(bpe.decode(bpe.encode("the the\xff")), "the the\xff");
    } catch (const DataError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace plimsoll::data
