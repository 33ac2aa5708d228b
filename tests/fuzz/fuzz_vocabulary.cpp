// vocab.json and merges.txt: the bytes as each, the other one being whole.
#include "data/bpe_files.h"
#include "tests/fuzz/target.h"

namespace plimsoll::fuzz {

bool reads(std::string_view bytes) {
  static const std::vector<std::string> tokens = {"a", "b", " ", "ab", " a", " ab"};
  const bool merges = unless_refused([&] { data::parse_merges(bytes, "f", tokens); });
  return unless_refused([&] { data::parse_vocabulary(bytes, "f"); }) || merges;
}

std::vector<std::string> seeds() {
  return {R"({"a": 0, "b": 1, "Ġ": 2, "ab": 3, "\u0120a": 4, "<|end|>": 7})", "{}",
          "#version: 0.2\na b\nĠ a\n\nĠ ab\r\n"};
}

std::vector<std::string> words() {
  return {"{", "}",   "[",  "\": ", ", \"", "\\u", "\\ud83d\\ude00",
          "Ġ", "1e5", "-1", "null", "a b\n"};
}

}  // namespace plimsoll::fuzz
