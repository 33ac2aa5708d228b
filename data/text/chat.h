// Conversations to train on: JSON lines, and the templates by which they become one text.
//
//   const std::vector<Conversation> all = read_conversations("chat.jsonl");
//   const ChatTemplate form = template_named("chatml");  // data/text/chat_templates.h
//   const ChatText chat = form.text(all[0], "chat.jsonl line 1");  // and which parts are answers
//
// A line: {"messages": [{"role": "system", "content": "..."}, {"role": "user", "content": "..."},
// {"role": "assistant", "content": "..."}]}: perhaps a system's message, then users and answers in
// turn, an answer last.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
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
  // [begin, end) in it: all that a model writes, from behind what asks for it to what ends it.
  std::vector<std::pair<size_t, size_t>> answers;
};

// What stands around a content.
struct Around {
  std::string before, after;
  bool trims = false;  // blanks around the content, those that Python's strip() takes
};

// What stands around messages, as data.
struct ChatTemplate {
  // Where a system's text goes: before all else, into the first user's message, nowhere.
  enum class SystemPlace : uint8_t { front, in_user, nowhere };

  std::string name = "";
  std::string begin = "";  // of the text: the first special token, where it says it
  Around system = {}, user = {}, answer = {};
  std::string prompt = "";   // in front of an answer: what asks a model for it
  std::string between = "";  // behind an answer
  SystemPlace system_place = SystemPlace::front;
  std::optional<std::string> default_system = {};  // of a conversation without a system's message
  // Around the reasoning of the last answer, which its content has in front, between the two, or
  // has not; earlier answers lose theirs. Nothing: a content is written as it is.
  Around thinking = {};

  // Messages of the form that read_conversations() checks. DataError naming the place: one that
  // this template cannot write.
  ChatText text(const Conversation& conversation, const std::string& place) const;
};

}  // namespace plimsoll::data
