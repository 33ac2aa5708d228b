// What the tests of byte pair encoding share: texts, and ids as the pip package tokenizers gives
// them (tests/data/bpe_reference.py).
//
//   expect_same_ids(folder, many_texts(dir), dir);   // skips the test without it
#pragma once

#include "data/random.h"
#include "data/text/bpe_files.h"
#include "data/text/builtin_text.h"
#include "tests/data/testing.h"
#include "tests/support/python.h"

namespace plimsoll::data {

inline std::vector<std::string> read_records(const std::string& path, size_t element) {
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
inline std::vector<std::string> random_texts(int count) {
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

inline void refer(std::vector<std::string> arguments) {
  const python::Outcome outcome = python::run("data/bpe_reference.py", std::move(arguments));
  ASSERT_EQ(outcome.code, 0) << outcome.output;
}

// Every character that Unicode has assigned, random texts, and parts of this project's sources.
inline std::vector<std::string> short_texts(const TemporaryFolder& dir) {
  refer({"characters", dir.text("characters")});
  std::vector<std::string> texts = read_records(dir.text("characters"), 1);
  EXPECT_GT(texts.size(), size_t{10'000});
  for (const std::string& text : random_texts(3000)) texts.push_back(text);
  const std::string sources = read_sources(source_folder());
  for (size_t i = 0; i + 2000 < sources.size(); i += 20'000) {
    std::string part = sources.substr(i, 2000);
    std::erase_if(part, [](char c) { return static_cast<uint8_t>(c) >= 128; });  // may be cut
    texts.push_back(part);
  }
  texts.push_back(std::string(3000, ' ') + std::string(3000, 'x') + std::string(3000, '\n'));
  return texts;
}

// Those, and the sources as one text.
inline std::vector<std::string> many_texts(const TemporaryFolder& dir) {
  std::vector<std::string> texts = short_texts(dir);
  texts.push_back(read_sources(source_folder()));
  return texts;
}

// Ids of `texts`, ours and those that tokenizers gives, with the files in `path`; unless an added
// token stands for other bytes, the ids become the texts again. `front`: theirs are compared with
// what belongs before a text in front of ours.
inline void expect_same_ids(const std::filesystem::path& path,
                            const std::vector<std::string>& texts, const TemporaryFolder& dir,
                            bool and_back = true, bool front = false) {
  NEEDS_PYTHON("tokenizers");
  std::string packed;
  for (const std::string& text : texts) {
    const auto size = static_cast<uint32_t>(text.size());
    packed.append(reinterpret_cast<const char*>(&size), 4);
    packed += text;
  }
  dir.write("texts", packed);
  refer({"encode", path.string(), dir.text("texts"), dir.text("ids")});
  const BytePairEncoding bpe = load_tokenizer(path);
  const std::vector<std::string> expected = read_records(dir.text("ids"), 4);
  ASSERT_EQ(expected.size(), texts.size());
  int different = 0;
  for (size_t i = 0; i < texts.size(); ++i) {
    std::vector<int32_t> ids = bpe.encode(texts[i]);
    if (front) ids.insert(ids.begin(), bpe.front().begin(), bpe.front().end());
    const std::string bytes(reinterpret_cast<const char*>(ids.data()), ids.size() * 4);
    if (bytes != expected[i] && ++different <= 3) ADD_FAILURE() << "text " << i << ": " << texts[i];
    if (and_back) {
      ASSERT_EQ(bpe.decode(ids), texts[i]);
    }
  }
  EXPECT_EQ(different, 0) << "of " << texts.size();
}

}  // namespace plimsoll::data
