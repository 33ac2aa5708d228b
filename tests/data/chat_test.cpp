// Conversations as texts: those of transformers, and which parts are answers.
#include "data/text/chat.h"

#include <fstream>

#include "data/file.h"
#include "tests/data/testing.h"
#include "tests/support/errors.h"
#include "tests/support/python.h"

namespace plimsoll::data {
namespace {

constexpr const char* kChat =
    R"({"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}]})"
    "\n\n"
    R"({"messages": [{"role": "system", "content": " Be brief. "}, )"
    R"({"role": "user", "content": "one\ntwo"}, {"role": "assistant", "content": " 3 "}, )"
    R"({"role": "user", "content": ""}, {"role": "assistant", "content": "naïve 日本"}]})"
    "\n";

TEST(DataChat, AnswersAreWhereTheTemplateSays) {
  const std::vector<Conversation> all = parse_conversations(kChat, "f");
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[1].line, 3);
  const ChatText chat = template_named("chatml").text(all[1]);
  std::string answers;
  for (const auto& [begin, end] : chat.answers) answers += chat.text.substr(begin, end - begin);
  EXPECT_EQ(answers, " 3 <|im_end|>naïve 日本<|im_end|>");
  EXPECT_EQ(template_named("qwen2").text(all[0]).text,
            "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n<|im_start|>user\n"
            "Hi<|im_end|>\n<|im_start|>assistant\nHello.<|im_end|>\n");
}

TEST(DataChat, TextsAreThoseOfTransformers) {
  NEEDS_PYTHON("torch, transformers, jinja2");
  const TemporaryFolder dir;
  std::string lines = kChat;
  lines.erase(lines.find("\n\n"), 1);
  dir.write("chat.jsonl", lines);
  const python::Outcome outcome =
      python::run("data/chat_templates.py", {dir.path().string(), dir.text("chat.jsonl")});
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  for (const std::string name : {"chatml", "qwen2", "smollm2", "llama3", "zephyr"}) {
    const ChatTemplate& form = find_template(read_text(dir / name / "tokenizer_config.json"), "f");
    EXPECT_EQ(form.name, name);
    std::string ours;
    for (const Conversation& one : read_conversations(dir / "chat.jsonl"))
      ours += form.text(one).text + '\0';
    EXPECT_EQ(ours, read_text(dir / name / "texts")) << name;
  }
}

// Blanks that Jinja prints are part of a template, others are not; special tokens are the file's.
TEST(DataChat, TemplatesThatPrintOtherBlanksAreOthers) {
  const std::string loop =
      "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + "
      "message['content'] + '<|im_end|>' + '\\n'}}";
  const std::string end =
      "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";
  const auto found = [](const std::string& jinja) {
    return find_template("{\"chat_template\": \"" + jinja + "\"}", "f").name;
  };
  EXPECT_EQ(found(loop + end), "chatml");
  for (const char* printed : {"\\n", " ", "x"})
    EXPECT_THROW(found(loop + printed + end), DataError) << printed;
  EXPECT_EQ(found(loop + "{%- endfor %}" + end.substr(12)), "chatml");
  EXPECT_EQ(found(loop + "\\n  {%- endfor -%}\\n " + end.substr(12)), "chatml");
  EXPECT_EQ(found("  " + loop + "{% endfor %}\\n  " + end.substr(12)), "chatml");
}

TEST(DataChat, UnknownTemplatesAreRefused) {
  const std::string known = ". Say which of chatml, qwen2, smollm2, llama3, zephyr it is.";
  EXPECT_EQ(error_of<DataError>([] { find_template("{}", "f"); }),
            "chat: there is no chat_template: f" + known);
  EXPECT_EQ(error_of<DataError>([] { find_template(R"({"chat_template": "{{ x }}"})", "f"); }),
            "chat: the chat_template is not known: f has {{ x }}" + known);
}

}  // namespace
}  // namespace plimsoll::data
