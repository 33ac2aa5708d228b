// Tokenizers as Llama, Qwen, SmolLM and Mistral have them, beside the pip package tokenizers.
#include <sstream>

#include "tests/data/bpe_testing.h"

namespace plimsoll::data {
namespace {

constexpr const char* kForms[] = {"llama3",           "qwen2",           "smollm",         "llama2",
                                  "metaspace-always", "metaspace-first", "metaspace-never"};

// Short texts, and a megabyte of sources, scripts, blanks, numbers and signs in every order: all of
// the sources at once would cost these forms, some of which cut nothing, most of the time.
std::vector<std::string> mixed_texts(const TemporaryFolder& dir) {
  std::vector<std::string> texts = short_texts(dir);
  std::string mixed = read_sources(source_folder()).substr(0, 400'000);
  for (const std::string& text : random_texts(12'000)) mixed += text;
  while ((static_cast<uint8_t>(mixed[400'000]) & 0xC0) == 0x80) mixed.erase(400'000, 1);
  EXPECT_GT(mixed.size(), size_t{1'000'000});
  texts.push_back(mixed);
  for (const char* text : {"",
                           " ",
                           "  ",
                           "a",
                           " a",
                           "  a",
                           "▁a",
                           " ▁a",
                           "<s>a",
                           "a<s> b",
                           "<s><s>",
                           "<s> ",
                           "x<|end|> y",
                           "'S 'LL 'Re '\u017F'\u017Ft we'VE",
                           "1234567 12 3.14159",
                           "a  1",
                           "a 1",
                           "  12",
                           "\r\n\r\n  x",
                           " \n y",
                           "\t\tx",
                           "ee\u0301e e\u0301e éee",
                           "\u1E9B\u0323 \u2126 \uAC00",
                           "<0x41>",
                           "<unk>",
                           "½\u2153 Ⅷ",
                           "(abc) [x]=[1]",
                           " .\n\n",
                           "...\r\n\r\nx",
                           "\u00A0x \u3000y"})
    texts.push_back(text);
  return texts;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// Those texts that none of `parts` is in.
std::vector<std::string> without(const std::vector<std::string>& texts,
                                 const std::vector<std::string>& parts) {
  std::vector<std::string> left;
  std::ranges::copy_if(texts, std::back_inserter(left), [&](const std::string& text) {
    return std::ranges::none_of(
        parts, [&](const std::string& part) { return text.find(part) != text.npos; });
  });
  return left;
}

TEST(DataTokenizerForms, GiveTheIdsOfTokenizers) {
  NEEDS_PYTHON("tokenizers");
  const TemporaryFolder dir;
  std::string text = read_sources(source_folder()).substr(0, 300'000);
  while (!text.empty() && static_cast<uint8_t>(text.back()) >= 128) text.pop_back();
  for (const std::string& more : random_texts(1000)) text += more;
  dir.write("text", text);
  const python::Outcome outcome =
      python::run("data/bpe_forms.py", {dir.path().string(), dir.text("text")});
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  const std::vector<std::string> mixed = mixed_texts(dir);
  const std::vector<std::string> ordered = without(mixed, lines_of(read_text(dir / "unordered")));
  EXPECT_GT(ordered.size(), mixed.size() - 200);
  for (const std::string form : kForms) {
    SCOPED_TRACE(form);
    const std::vector<std::string>& texts = form == "qwen2" ? ordered : mixed;
    const std::filesystem::path file = dir / (form + ".json");
    expect_same_ids(file, texts, dir, /*and_back=*/false, /*front=*/true);
    const BytePairEncoding bpe = load_tokenizer(file);
    EXPECT_EQ(bpe.front(), std::vector<int32_t>{1});
    EXPECT_TRUE(bpe.back().empty());
    for (const char* back : {"", "Hello, world", "two  blanks", "naïve 日本 😀 \x01"})
      EXPECT_EQ(bpe.decode(bpe.encode(back)), back);
    // A mark that is there already says nothing of whether it was put there.
    const bool told = form != "metaspace-always" && form != "metaspace-first";
    EXPECT_EQ(bpe.decode(bpe.encode(" x")), told ? " x" : "x");
  }
}

}  // namespace
}  // namespace plimsoll::data
