#include "data/text/chat_templates.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "data/file.h"
#include "data/json.h"
#include "data/text/jinja.h"

namespace plimsoll::data {
namespace {

using Json = nlohmann::json;

struct Known {
  ChatTemplate form;
  std::vector<uint64_t> hashes;  // of the published versions, as hash_of() has it
  // What the Jinja calls bos_token and eos_token, as it stands in the form's texts.
  std::string bos = "", eos = "";
};

uint64_t hash_of(std::string_view jinja) { return fnv1a(normal_form(jinja)); }

std::vector<Known> made_templates() {
  using enum ChatTemplate::SystemPlace;
  const ChatTemplate chatml{.name = "chatml",
                            .system = {"<|im_start|>system\n", "<|im_end|>\n"},
                            .user = {"<|im_start|>user\n", "<|im_end|>\n"},
                            .answer = {"", "<|im_end|>"},
                            .prompt = "<|im_start|>assistant\n",
                            .between = "\n"};
  ChatTemplate qwen2 = chatml, qwen25 = chatml, qwen3 = chatml, smollm2 = chatml;
  qwen2.name = "qwen2";
  qwen2.default_system = "You are a helpful assistant.";
  qwen25.name = "qwen2.5";
  qwen25.default_system = "You are Qwen, created by Alibaba Cloud. You are a helpful assistant.";
  qwen3.name = "qwen3";
  qwen3.thinking = {"<think>\n", "\n</think>\n\n"};
  smollm2.name = "smollm2";
  smollm2.default_system = "You are a helpful AI assistant named SmolLM, trained by Hugging Face";

  const ChatTemplate llama2{.name = "llama2",
                            .system = {"<<SYS>>\n", "\n<</SYS>>\n\n"},
                            .user = {"<s>[INST] ", " [/INST]", true},
                            .answer = {" ", " </s>", true},
                            .system_place = in_user};
  const ChatTemplate llama3{
      .name = "llama3",
      .begin = "<|begin_of_text|>",
      .system = {"<|start_header_id|>system<|end_header_id|>\n\n", "<|eot_id|>", true},
      .user = {"<|start_header_id|>user<|end_header_id|>\n\n", "<|eot_id|>", true},
      .answer = {"", "<|eot_id|>", true},
      .prompt = "<|start_header_id|>assistant<|end_header_id|>\n\n"};
  // That of 3.2 writes the day of today, where it can; this is what it writes where it cannot, and
  // what that of 3.1 and 3.3 writes always.
  ChatTemplate llama31 = llama3;
  llama31.name = "llama3.1";
  llama31.system.before += "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n";
  llama31.default_system = "";

  const ChatTemplate mistral{.name = "mistral",
                             .begin = "<s>",
                             .user = {"[INST] ", " [/INST]"},
                             .answer = {"", "</s>"},
                             .system_place = nowhere};
  ChatTemplate mistral_first = mistral, mistral_v1 = mistral, mistral_v3 = mistral;
  mistral_first.name = "mistral-v0.1";
  // Moved, as g++ 12 takes the assignment of one character's literal for an overflow.
  mistral_first.between = std::string(" ");
  mistral_v1.name = "mistral-v1";
  mistral_v1.system = {"", "\n\n"};
  mistral_v1.user = {" [INST] ", " [/INST]"};
  mistral_v1.answer = {" ", "</s>"};
  mistral_v1.system_place = in_user;
  // Its system's message would stand in front of a last message that is a question: of a
  // conversation that ends with an answer it writes nothing of it.
  mistral_v3.name = "mistral-v3";
  mistral_v3.user = {"[INST] ", "[/INST]"};
  mistral_v3.answer = {" ", "</s>", true};

  const ChatTemplate zephyr{.name = "zephyr",
                            .system = {"<|system|>\n", "</s>\n"},
                            .user = {"<|user|>\n", "</s>\n"},
                            .answer = {"", "</s>"},
                            .prompt = "<|assistant|>\n",
                            .between = "\n"};
  return {
      {chatml, {0xabcc246a94341a38, 0xd2c6cf8115cfea48}},  // the second: Qwen 3 Instruct 2507
      {qwen2, {0xb467173160c28633, 0x26e4aef065c62e1f}},   // the second: base models of 2.5
      {qwen25, {0x03b81a33de11082f, 0x863a269f07b3f7b1}},
      {qwen3, {0x76d11dc5b84ccdd2, 0x3b192d138e66e949}},
      {smollm2, {0x1883a067e00d7508}},
      {llama2, {0x6c50d1d6e720e237}, "<s>", "</s>"},
      {llama3, {0xae8ac1f53b8942b4}, "<|begin_of_text|>"},
      {llama31, {0xaa5a919425524ea9, 0x46fc6c364201ccc2}, "<|begin_of_text|>"},  // 3.1 and 3.3; 3.2
      {mistral_first, {0xbb4524ed7672ee76}, "<s>", "</s>"},
      {mistral, {0xdd39f833422aa4a9}, "<s>", "</s>"},
      {mistral_v1, {0x462827354bacf546}, "<s>", "</s>"},
      {mistral_v3, {0x9b2fdd669f9030b5}, "<s>", "</s>"},
      {zephyr, {0xdeb4b92ed8d656c6}, "", "</s>"}};
}

const std::vector<Known>& known_templates() {
  static const std::vector<Known> all = made_templates();
  return all;
}

// "<|im_end|>" or {"content": "<|im_end|>", ...}. DataError where there is none.
std::string special_token(const Json& config, const char* name, const std::string& file) {
  Json token = config.value(name, Json());
  if (token.is_object()) token = token.value("content", Json());
  check<DataError>(token.is_string(), "chat: the template needs a ", name, ": ", file,
                   " has none. Use the file as it was published.");
  return token.get<std::string>();
}

// The form with other special tokens: pairs of one that is in its texts and what replaces it.
using Tokens = std::vector<std::pair<std::string, std::string>>;

ChatTemplate with_tokens(ChatTemplate form, const Tokens& tokens) {
  for (std::string* text :
       {&form.begin, &form.system.before, &form.system.after, &form.user.before, &form.user.after,
        &form.answer.before, &form.answer.after, &form.prompt, &form.between}) {
    std::string result;
    for (std::string_view rest = *text; !rest.empty();) {
      const auto token = std::ranges::find_if(
          tokens, [&](const auto& pair) { return rest.starts_with(pair.first); });
      const bool found = token != tokens.end();
      result += found ? token->second : std::string(1, rest[0]);
      rest.remove_prefix(found ? token->first.size() : 1);
    }
    *text = result;
  }
  return form;
}

// "..." or [{"name": "default", "template": "..."}, ...]; "" for anything else.
std::string text_of(const Json& chat_template) {
  if (chat_template.is_string()) return chat_template;
  if (!chat_template.is_array()) return "";
  for (const Json& one : chat_template)
    if (one.is_object() && one.value("name", Json()) == "default" &&
        one.value("template", Json()).is_string())
      return one["template"];
  return "";
}

}  // namespace

std::string template_names() {
  std::string names;
  for (const Known& known : known_templates())
    names += cat(names.empty() ? "" : ", ", known.form.name);
  return names;
}

const ChatTemplate& template_named(const std::string& name) {
  for (const Known& known : known_templates())
    if (known.form.name == name) return known.form;
  fail<DataError>("chat: this template is not known: ", shown(name), ". Those known are ",
                  template_names(), ".");
}

std::string template_text(std::string_view tokenizer_config, const std::string& file) {
  const Json config = parse_object(tokenizer_config, {.reader = "chat", .name = file});
  return text_of(config.value("chat_template", Json()));
}

ChatTemplate find_template(std::string_view tokenizer_config, const std::string& file,
                           const std::string& jinja) {
  const Json config = parse_object(tokenizer_config, {.reader = "chat", .name = file});
  const std::string text = jinja.empty() ? text_of(config.value("chat_template", Json())) : jinja;
  check<DataError>(!text.empty(), "chat: there is no chat_template: ", file, ". Say which of ",
                   template_names(), " it is.");
  const uint64_t hash = hash_of(text);
  for (const Known& known : known_templates()) {
    if (std::ranges::find(known.hashes, hash) == known.hashes.end()) continue;
    Tokens tokens;
    if (!known.bos.empty())
      tokens.emplace_back(known.bos, special_token(config, "bos_token", file));
    if (!known.eos.empty())
      tokens.emplace_back(known.eos, special_token(config, "eos_token", file));
    return with_tokens(known.form, tokens);
  }
  std::array<char, 17> digits{};
  std::snprintf(digits.data(), digits.size(), "%016llx", static_cast<unsigned long long>(hash));
  fail<DataError>("chat: the chat_template is not known: ", file,
                  jinja.empty() ? " has " : " has beside it ", shown(text), ", of hash 0x",
                  digits.data(), ". Say which of ", template_names(), " it is.");
}

}  // namespace plimsoll::data
