#include "data/text/chat.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/error.h"
#include "data/file.h"
#include "data/json.h"
#include "data/text/pretokenize.h"

namespace plimsoll::data {
namespace {

using Json = nlohmann::json;

// What is wrong with a line, "" for nothing.
std::string fault_of(const std::vector<Message>& messages) {
  size_t i = !messages.empty() && messages[0].role == "system";
  if ((messages.size() - i) < 2 || (messages.size() - i) % 2 != 0)
    return "users and answers do not take turns, an answer last";
  for (; i < messages.size(); i += 2) {
    if (messages[i].role != "user" || messages[i + 1].role != "assistant")
      return "users and answers do not take turns, an answer last";
    if (messages[i + 1].content.empty()) return "an answer has no text";
  }
  return "";
}

Conversation conversation_of(const Json& object, const std::string& place) {
  const auto refuse = [&](const std::string& why) {
    fail<DataError>("chat: ", why, ": ", place,
                    ". Write {\"messages\": [{\"role\": \"user\", \"content\": \"...\"}, ...]}.");
  };
  const auto list = object.find("messages");
  if (list == object.end() || !list->is_array() || object.size() != 1)
    refuse("the line has not messages alone");
  Conversation conversation;
  for (const Json& message : *list) {
    const bool is_text = message.is_object() && message.size() == 2 &&
                         message.value("role", Json()).is_string() &&
                         message.value("content", Json()).is_string();
    if (!is_text) refuse("a message has not a role and a content that are text");
    conversation.messages.push_back({message["role"], message["content"]});
  }
  const std::string fault = fault_of(conversation.messages);
  if (!fault.empty()) refuse(fault);
  return conversation;
}

// As Python's strip(): the property White_Space, and the four separators of ASCII.
std::string trimmed(std::string_view text) {
  size_t first = text.size(), last = 0;
  for (size_t i = 0; i < text.size();) {
    const Character c = character_at(text, i);
    const bool separates = text[i] >= 0x1C && text[i] <= 0x1F;
    if (c.kind != CharacterKind::space && !separates) {
      first = std::min(first, i);
      last = i + c.bytes;
    }
    i += c.bytes;
  }
  return std::string(text.substr(first, last > first ? last - first : 0));
}

std::string without_line_ends(std::string_view text) {
  const size_t first = text.find_first_not_of('\n');
  if (first == text.npos) return "";
  return std::string(text.substr(first, text.find_last_not_of('\n') - first + 1));
}

std::string behind_line_ends(std::string_view text) {
  return std::string(text.substr(std::min(text.find_first_not_of('\n'), text.size())));
}

std::string wrapped(const Around& around, const std::string& content) {
  return around.before + (around.trims ? trimmed(content) : content) + around.after;
}

// An answer's content: its reasoning in front where it is the last one, "" where it has none.
std::string with_reasoning(const Around& thinking, const std::string& content, bool last) {
  const std::string open = trimmed(thinking.before), close = trimmed(thinking.after);
  std::string reasoning, rest = content;
  if (const size_t end = content.find(close); end != content.npos) {
    reasoning = content.substr(0, end);
    const size_t begin = reasoning.rfind(open);
    if (begin != reasoning.npos) reasoning.erase(0, begin + open.size());
    rest = behind_line_ends(content.substr(content.rfind(close) + close.size()));
  }
  if (!last) return rest;
  return wrapped(thinking, without_line_ends(reasoning)) + behind_line_ends(rest);
}

}  // namespace

std::vector<Conversation> parse_conversations(std::string_view text, const std::string& name) {
  std::vector<Conversation> all;
  int64_t number = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    ++number;
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    const std::string place = cat(name, " line ", number);
    const Json object =
        parse_object(line, {.reader = "chat", .name = place, .advice = ". Mend it."});
    all.push_back(conversation_of(object, place));
    all.back().line = number;
  }
  check<DataError>(!all.empty(), "chat: there is no conversation: ", name,
                   ". Write one in each line.");
  return all;
}

std::vector<Conversation> read_conversations(const std::filesystem::path& file) {
  return parse_conversations(read_text(file), file.string());
}

ChatText ChatTemplate::text(const Conversation& conversation, const std::string& place) const {
  const std::vector<Message>& messages = conversation.messages;
  ChatText chat{.text = begin, .answers = {}};
  const bool has_system = messages.front().role == "system";
  std::string opening;  // of the first user's message
  if (has_system || default_system) {
    check<DataError>(system_place != SystemPlace::nowhere, "chat: ", name,
                     " has no place for a system's message: ", place,
                     ". Put its text into the first user's message.");
    const std::string& content = has_system ? messages.front().content : *default_system;
    (system_place == SystemPlace::front ? chat.text : opening) += wrapped(system, content);
  }
  const bool thinks = !thinking.before.empty();
  for (size_t i = has_system ? 1 : 0; i < messages.size(); i += 2) {
    const std::string& question = messages[i].content;
    const bool last = i + 2 == messages.size();
    const bool answers_tool =
        question.starts_with("<tool_response>") && question.ends_with("</tool_response>");
    check<DataError>(!thinks || !last || !answers_tool, "chat: ", name,
                     " takes the last question for what a tool responds: ", place,
                     ". Write it without <tool_response>.");
    chat.text += wrapped(user, std::exchange(opening, "") + question) + prompt;
    const size_t first = chat.text.size();
    const std::string& content = messages[i + 1].content;
    chat.text += wrapped(answer, thinks ? with_reasoning(thinking, content, last) : content);
    chat.answers.emplace_back(first, chat.text.size());
    chat.text += between;
  }
  return chat;
}

}  // namespace plimsoll::data
