// Conversations to train on: JSON lines, and the templates by which they become one text.
//
//   const std::vector<Conversation> all = read_conversations("chat.jsonl");
//   const ChatTemplate form = find_template(read_text("model/tokenizer_config.json"), "f");
//   const ChatText chat = form.text(all[0]);          // and which parts of it are answers
//
// A line: {"messages": [{"role": "system", "content": "..."}, {"role": "user", "content": "..."},
// {"role": "assistant", "content": "..."}]}: perhaps a system's message, then users and answers in
// turn, an answer last.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plimsoll::data {

struct Message {
  std::string role, content;
};

struct Conversation {
  std::vector<Message> messages;
  int64_t line = 0;  // of the file, from 1
};

// Empty lines count for nothing. DataError naming file and line: no JSON of this form, roles that
// do not take turns, an answer without text; a file without a conversation.
std::vector<Conversation> read_conversations(const std::filesystem::path& file);
std::vector<Conversation> parse_conversations(std::string_view text, const std::string& name);

struct ChatText {
  std::string text;
  std::vector<std::pair<size_t, size_t>> answers;  // [begin, end) in it, with what ends them
};

// What stands around a message, as data. "" in front of a system's message where there is none.
struct ChatTemplate {
  std::string name;
  std::string begin;                    // of the text: the first special token, where it says it
  std::string before_role, after_role;  // around "system", "user", "assistant"
  std::string after_content;            // ends a message, and an answer
  std::string between;                  // behind it
  std::string default_system;           // of a conversation without a system's message
  bool trims = false;                   // blanks around contents

  ChatText text(const Conversation& conversation) const;
};

// Those known: chatml, qwen2, smollm2, llama3 and zephyr. DataError naming them for another.
const ChatTemplate& template_named(const std::string& name);

// The one that a tokenizer_config.json has as its chat_template, word for word but for blanks that
// print nothing; with the bos_token and eos_token of that file. DataError where there is none, or
// one that is not known.
ChatTemplate find_template(std::string_view tokenizer_config, const std::string& file);

}  // namespace plimsoll::data
