#include "data/text/chat.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/error.h"
#include "data/file.h"
#include "data/json.h"

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

std::string trimmed(const std::string& text) {
  constexpr const char* kBlanks = " \t\r\n\v\f";
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == text.npos) return "";
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// What stands between {{ and }} or {% and %} without blanks outside of quotes, with one kind of
// quotes and line ends in them as \n: versions of a template differ in these.
std::string squeezed(std::string_view tag) {
  std::string result;
  char quote = 0;
  for (const char c : tag) {
    if (quote == 0 && (c == ' ' || c == '\n' || c == '\t')) continue;
    if (quote == 0 && (c == '\'' || c == '"'))
      quote = c;
    else if (c == quote)
      quote = 0;
    if (c == '\n')
      result += "\\n";
    else
      result += c == '"' ? '\'' : c;
  }
  return result;
}

// Where the tag that begins at `begin` ends, behind its closing brackets.
size_t end_of_tag(std::string_view text, size_t begin) {
  const char closing = text[begin + 1] == '{' ? '}' : '%';
  char quote = 0;
  for (size_t i = begin + 2; i + 1 < text.size(); ++i) {
    if (quote == 0 && (text[i] == '\'' || text[i] == '"'))
      quote = text[i];
    else if (text[i] == quote)
      quote = 0;
    else if (quote == 0 && text[i] == closing && text[i + 1] == '}')
      return i + 2;
  }
  return text.size();
}

// A template as it is printed: of the text outside of tags, what Jinja drops is left out, as
// transformers calls it. trim_blocks: the line end behind a {% %}. lstrip_blocks: blanks in front
// of one in its line. A - in a tag: all blanks on that side.
std::string normal_form(std::string_view text) {
  constexpr const char* kBlanks = " \t\r\n";
  std::string result, outside;
  const auto flush = [&] { result += std::exchange(outside, ""); };
  bool trims = false;       // blanks behind the last tag
  bool line_begins = true;  // behind it
  for (size_t i = 0; i < text.size();) {
    const bool tag =
        text[i] == '{' && i + 1 < text.size() && (text[i + 1] == '{' || text[i + 1] == '%');
    if (!tag) {
      if (trims && std::string_view(kBlanks).find(text[i]) != std::string_view::npos) {
        ++i;
        continue;
      }
      trims = false;
      outside += text[i++];
      continue;
    }
    const size_t end = end_of_tag(text, i);
    std::string inner(text.substr(i + 2, end - i - 4));
    const bool block = text[i + 1] == '%';
    if (inner.starts_with('-')) {
      inner.erase(0, 1);
      outside.erase(outside.find_last_not_of(kBlanks) + 1);
    } else if (block) {
      const size_t last = outside.find_last_not_of(" \t");
      if (last == outside.npos ? line_begins : outside[last] == '\n') outside.erase(last + 1);
    }
    flush();
    trims = inner.ends_with('-');
    if (trims) inner.pop_back();
    result += cat(block ? "{%" : "{{", squeezed(inner), block ? "%}" : "}}");
    i = end;
    line_begins = block && !trims && i < text.size() && text[i] == '\n';
    if (line_begins) ++i;
  }
  flush();
  return result;
}

// "<|im_end|>" or {"content": "<|im_end|>", ...}. DataError where there is none.
std::string special_token(const Json& config, const char* name, const std::string& file) {
  Json token = config.value(name, Json());
  if (token.is_object()) token = token.value("content", Json());
  check<DataError>(token.is_string(), "chat: the template needs a ", name, ": ", file,
                   " has none. Use the file as it was published.");
  return token.get<std::string>();
}

struct Known {
  ChatTemplate form;
  std::vector<std::string> jinja;  // how tokenizer_config.json has it
};

std::string chatml_loop(const std::string& before) {
  return "{% for message in messages %}" + before +
         "{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + "
         "'\\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% "
         "endif %}";
}

std::string with_default(const std::string& system) {
  return "{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\\n" +
         system + "<|im_end|>\\n' }}{% endif %}";
}

const std::vector<Known>& known_templates() {
  static const std::vector<Known> all = [] {
    const ChatTemplate chatml{.name = "chatml",
                              .begin = "",
                              .before_role = "<|im_start|>",
                              .after_role = "\n",
                              .after_content = "<|im_end|>",
                              .between = "\n",
                              .default_system = ""};
    ChatTemplate qwen2 = chatml, smollm2 = chatml;
    qwen2.name = "qwen2";
    qwen2.default_system = "You are a helpful assistant.";
    smollm2.name = "smollm2";
    smollm2.default_system = "You are a helpful AI assistant named SmolLM, trained by Hugging Face";
    const ChatTemplate llama3{.name = "llama3",
                              .begin = "<|begin_of_text|>",
                              .before_role = "<|start_header_id|>",
                              .after_role = "<|end_header_id|>\n\n",
                              .after_content = "<|eot_id|>",
                              .between = "",
                              .default_system = "",
                              .trims = true};
    const ChatTemplate zephyr{.name = "zephyr",
                              .begin = "",
                              .before_role = "<|",
                              .after_role = "|>\n",
                              .after_content = "</s>",
                              .between = "\n",
                              .default_system = ""};
    return std::vector<Known>{
        {chatml, {chatml_loop("")}},
        {qwen2, {chatml_loop(with_default(qwen2.default_system))}},
        {smollm2, {chatml_loop(with_default(smollm2.default_system))}},
        {llama3,
         {"{% set loop_messages = messages %}{% for message in loop_messages %}{% set content = "
          "'<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n'+ "
          "message['content'] | trim + '<|eot_id|>' %}{% if loop.index0 == 0 %}{% set content = "
          "bos_token + content %}{% endif %}{{ content }}{% endfor %}{% if add_generation_prompt "
          "%}{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}"}},
        {zephyr,
         {"{% for message in messages %}\n{% if message['role'] == 'user' %}\n{{ '<|user|>\\n' + "
          "message['content'] + eos_token }}\n{% elif message['role'] == 'system' %}\n{{ "
          "'<|system|>\\n' + message['content'] + eos_token }}\n{% elif message['role'] == "
          "'assistant' %}\n{{ '<|assistant|>\\n'  + message['content'] + eos_token }}\n{% endif "
          "%}\n{% if loop.last and add_generation_prompt %}\n{{ '<|assistant|>' }}\n{% endif "
          "%}\n{% endfor %}"}}};
  }();
  return all;
}

std::string known_names() {
  std::string names;
  for (const Known& known : known_templates())
    names += cat(names.empty() ? "" : ", ", known.form.name);
  return names;
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

ChatText ChatTemplate::text(const Conversation& conversation) const {
  ChatText chat{.text = begin, .answers = {}};
  const auto add = [&](const std::string& role, const std::string& content) {
    chat.text += before_role + role + after_role;
    const size_t first = chat.text.size();
    chat.text += (trims ? trimmed(content) : content) + after_content;
    if (role == "assistant") chat.answers.emplace_back(first, chat.text.size());
    chat.text += between;
  };
  const bool has_system = conversation.messages.front().role == "system";
  if (!has_system && !default_system.empty()) add("system", default_system);
  for (const Message& message : conversation.messages) add(message.role, message.content);
  return chat;
}

const ChatTemplate& template_named(const std::string& name) {
  for (const Known& known : known_templates())
    if (known.form.name == name) return known.form;
  fail<DataError>("chat: this template is not known: ", shown(name), ". Those known are ",
                  known_names(), ".");
}

ChatTemplate find_template(std::string_view tokenizer_config, const std::string& file) {
  const Json config = parse_object(tokenizer_config, {.reader = "chat", .name = file});
  const Json form = config.value("chat_template", Json());
  check<DataError>(form.is_string(), "chat: there is no chat_template: ", file, ". Say which of ",
                   known_names(), " it is.");
  const std::string theirs = normal_form(form.get<std::string>());
  for (const Known& known : known_templates())
    for (const std::string& jinja : known.jinja) {
      if (normal_form(jinja) != theirs) continue;
      ChatTemplate found = known.form;  // with the tokens that this tokenizer has
      if (jinja.find("bos_token") != jinja.npos)
        found.begin = special_token(config, "bos_token", file);
      if (jinja.find("eos_token") != jinja.npos)
        found.after_content = special_token(config, "eos_token", file);
      return found;
    }
  fail<DataError>("chat: the chat_template is not known: ", file, " has ",
                  shown(form.get<std::string>()), ". Say which of ", known_names(), " it is.");
}

}  // namespace plimsoll::data
