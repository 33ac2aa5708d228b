// The chat templates that are known, and which of them a tokenizer has.
//
//   template_named("llama3.1")
//   find_template(read_text("model/tokenizer_config.json"), "model/tokenizer_config.json")
#pragma once

#include "data/text/chat.h"

namespace plimsoll::data {

// "chatml, qwen2, ..."
std::string template_names();

// With the special tokens that the published models have. DataError naming those known for another.
const ChatTemplate& template_named(const std::string& name);

// The Jinja text that a tokenizer_config.json has as its chat_template, of several the one that is
// called default; "" where there is none. DataError where it is no JSON object.
std::string template_text(std::string_view tokenizer_config, const std::string& file);

// The one that a tokenizer_config.json has as its chat_template, or `jinja`, where a
// chat_template.jinja lies beside it: word for word but for blanks that print nothing and for
// comments; with the bos_token and eos_token of that file. DataError where there is none, or one
// that is not known.
ChatTemplate find_template(std::string_view tokenizer_config, const std::string& file,
                           const std::string& jinja = "");

}  // namespace plimsoll::data
