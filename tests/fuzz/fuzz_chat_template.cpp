// tokenizer_config.json, of which the chat template and two tokens are read.
#include "data/text/chat_templates.h"
#include "tests/fuzz/target.h"

namespace plimsoll::fuzz {

bool reads(std::string_view bytes) {
  return unless_refused([&] { data::find_template(bytes, "f"); });
}

std::vector<std::string> seeds() {
  return {R"({"bos_token": {"content": "<s>"}, "eos_token": "</s>", "chat_template": )"
          R"("{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + )"
          R"(message['content'] + '<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt )"
          R"(%}{{ '<|im_start|>assistant\n' }}{% endif %}"})"};
}

std::vector<std::string> words() {
  return {"{",     "}",    "[",    "]",       ",",   ":",       "\"",
          "null",  "true", "-1",   "1e999",   "{%",  "%}",      "{{ eos_token }}",
          "\\\\n", "\\n",  "\xff", "\\ud800", "{# ", "message", "\"chat_template\": "};
}

}  // namespace plimsoll::fuzz
