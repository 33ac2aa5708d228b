// JSON lines with conversations.
#include "data/text/chat.h"
#include "tests/fuzz/target.h"

namespace plimsoll::fuzz {

bool reads(std::string_view bytes) {
  return unless_refused([&] { data::read_conversations(in_memory(bytes)); });
}

std::vector<std::string> seeds() {
  const std::string answered =
      R"({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "é"}]})";
  return {answered, answered + "\n\n" + answered + "\r\n",
          R"({"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "\n"}, )"
          R"({"role": "assistant", "content": "x"}, {"role": "user", "content": "b"}, )"
          R"({"role": "assistant", "content": "\ud83d\ude00"}]})"};
}

std::vector<std::string> words() {
  return {"{",    "}",       "[",         "]",     ",",
          ":",    "\"",      "\n",        "\r\n",  "\"messages\": [",
          "null", "\\ud83d", "\xff",      "1e999", "{\"role\": \"user\", \"content\": \"a\"}, ",
          "-1",   "\"\"",    "\"system\""};
}

}  // namespace plimsoll::fuzz
