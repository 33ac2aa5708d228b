// *.tiktoken: tokens in base64 and their ranks.
#include "data/bpe_files.h"
#include "tests/data_testing.h"
#include "tests/fuzz/target.h"

namespace plimsoll::fuzz {

bool reads(std::string_view bytes) {
  return unless_refused([&] { data::parse_ranks(bytes, "f"); });
}

std::vector<std::string> seeds() {
  std::string text;  // every byte has to be a token
  for (int byte = 0; byte < 256; ++byte)
    text += cat(data::base64(std::string(1, static_cast<char>(byte))), " ", byte, "\n");
  return {text, text + "YWI= 256\nYWJj 257\n\nYWJjYQ== 258\r\n"};
}

std::vector<std::string> words() {
  return {" ", "\n", "\r\n", "=", "==", "YWJj", "YWJj 259\n", "-1", "259"};
}

}  // namespace plimsoll::fuzz
