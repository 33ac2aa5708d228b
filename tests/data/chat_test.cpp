// Conversations as texts: those of transformers, and which parts are answers.
#include "data/text/chat.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "data/file.h"
#include "data/text/chat_templates.h"
#include "tests/data/testing.h"
#include "tests/foreign/foreign.h"
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

std::string message(const std::string& role, const std::string& content) {
  return nlohmann::json{{"role", role}, {"content", content}}.dump();
}

// One, two and three turns, with a system's message and without, of contents that templates may
// trim, cut or take for their own.
std::string conversations() {
  const std::vector<std::string> contents = {
      "Hi",
      " Be brief. \n",
      "\n\n3\t",
      "",
      "naïve 日本 🙂",
      "\u00a0\u3000wide\u2003",
      "\u200bno blank\x1c",
      "a\r\nb\r\n",
      "<think>\n\nwhy\n</think>\n\n\nso",
      "\nfirst</think>second</think>\n third",
      "<think>a<think>b\n\n",
      "[INST] <<SYS>> </s> <|im_end|>",
      "\\n {{ x }} 'q' \"r\"",
  };
  std::string lines;
  for (size_t i = 0; i < contents.size(); ++i)
    for (size_t kind = 0; kind < 6; ++kind) {
      const auto content = [&](size_t k) {
        return contents[(i + k * (kind + 1)) % contents.size()];
      };
      std::string messages = kind % 2 == 0 ? "" : message("system", content(5)) + ", ";
      for (size_t turn = 0; turn <= kind / 2; ++turn) {
        const std::string answer = content(2 * turn + 1);
        messages += (turn > 0 ? ", " : "") + message("user", content(2 * turn)) + ", " +
                    message("assistant", answer.empty() ? "x" : answer);
      }
      lines += "{\"messages\": [" + messages + "]}\n";
    }
  return lines;
}

std::string refusal_or_parts(const ChatTemplate& form, const Conversation& conversation) {
  try {
    const ChatText chat = form.text(conversation, "f");
    std::string parts = chat.text + '\0';
    for (const auto& answer : chat.answers) parts += std::to_string(answer.first) + '\0';
    return parts;
  } catch (const DataError&) {
    return std::string("refused") + '\0';
  }
}

TEST(DataChat, AnswersAreWhereTheTemplateSays) {
  const std::vector<Conversation> all = parse_conversations(kChat, "f");
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[1].line, 3);
  const auto answers = [&](const std::string& name, size_t which) {
    const ChatText chat = template_named(name).text(all[which], "f");
    std::string text;
    for (const auto& [begin, end] : chat.answers)
      text += "[" + chat.text.substr(begin, end - begin) + "]";
    return text;
  };
  EXPECT_EQ(answers("chatml", 1), "[ 3 <|im_end|>][naïve 日本<|im_end|>]");
  EXPECT_EQ(answers("qwen3", 1), "[ 3 <|im_end|>][<think>\n\n</think>\n\nnaïve 日本<|im_end|>]");
  EXPECT_EQ(answers("llama2", 1), "[ 3 </s>][ naïve 日本 </s>]");
  EXPECT_EQ(answers("mistral", 0), "[Hello.</s>]");
  EXPECT_EQ(template_named("qwen2").text(all[0], "f").text,
            "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n<|im_start|>user\n"
            "Hi<|im_end|>\n<|im_start|>assistant\nHello.<|im_end|>\n");
}

// Texts, and where answers begin: where the text ends that asks for them.
TEST(DataChat, TextsAreThoseOfTransformers) {
  NEEDS_PYTHON("torch, transformers, jinja2");
  const TemporaryFolder dir;
  dir.write("chat.jsonl", conversations());
  const python::Outcome outcome =
      python::run("data/chat_templates.py", {dir.path().string(), dir.text("chat.jsonl")});
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  const std::vector<Conversation> all = read_conversations(dir / "chat.jsonl");
  const auto compare = [&](const ChatTemplate& form, const std::string& name) {
    std::string ours;
    for (const Conversation& one : all) ours += refusal_or_parts(form, one);
    EXPECT_EQ(ours, read_text(dir / name / "texts")) << name;
  };
  for (const std::string name :
       {"chatml", "qwen2", "smollm2", "llama3", "mistral-v0.1", "mistral", "zephyr"}) {
    const ChatTemplate form = find_template(read_text(dir / name / "tokenizer_config.json"), "f");
    EXPECT_EQ(form.name, name);
    compare(form, name);
  }
  for (const std::string name :
       {"qwen2.5", "qwen3", "llama2", "llama3.1", "mistral-v1", "mistral-v3"})
    compare(template_named(name), name);
}

// The published texts themselves, where somebody has them: PLIMSOLL_FOREIGN/chat_templates has a
// folder of each name of a template, with files *.jinja.
TEST(DataChat, PublishedTemplatesAreRecognised) {
  NEEDS_FOREIGN();
  const std::filesystem::path folder = *foreign::folder() / "chat_templates";
  if (!std::filesystem::is_directory(folder))
    GTEST_SKIP() << "PLIMSOLL_FOREIGN has no chat_templates";
  NEEDS_PYTHON("torch, transformers, jinja2");
  const TemporaryFolder dir;
  dir.write("chat.jsonl", conversations());
  const std::vector<Conversation> all = read_conversations(dir / "chat.jsonl");
  for (const auto& named : std::filesystem::directory_iterator(folder)) {
    std::vector<std::string> words = {(dir / named.path().filename()).string(),
                                      dir.text("chat.jsonl")};
    for (const auto& file : std::filesystem::directory_iterator(named.path()))
      words.push_back(file.path().string());
    const python::Outcome outcome = python::run("data/chat_templates.py", words);
    ASSERT_EQ(outcome.code, 0) << outcome.output;
    for (const auto& made : std::filesystem::directory_iterator(words[0])) {
      const ChatTemplate form =
          find_template(read_text(made.path() / "tokenizer_config.json"), made.path().string());
      EXPECT_EQ(form.name, named.path().filename()) << made.path();
      std::string ours;
      for (const Conversation& one : all) ours += refusal_or_parts(form, one);
      EXPECT_EQ(ours, read_text(made.path() / "texts")) << made.path();
    }
  }
}

TEST(DataChat, MessagesWithoutAPlaceAreRefused) {
  const std::vector<Conversation> all = parse_conversations(
      R"({"messages": [{"role": "system", "content": "s"}, {"role": "user", )"
      R"("content": "<tool_response>1</tool_response>"}, {"role": "assistant", "content": "a"}]})",
      "f");
  const auto refusal = [&](const std::string& name) {
    return error_of<DataError>([&] { template_named(name).text(all[0], "f line 1"); });
  };
  EXPECT_EQ(refusal("mistral-v3"),
            "chat: mistral-v3 has no place for a system's message: f line 1. Put its text into the "
            "first user's message.");
  EXPECT_EQ(refusal("qwen3"),
            "chat: qwen3 takes the last question for what a tool responds: f line 1. Write it "
            "without <tool_response>.");
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

// Templates of any length are known by a hash, of what all versions share that print the same.
TEST(DataChat, HashesAreOfWhatIsPrinted) {
  const auto hash = [](const std::string& jinja) {
    const std::string config = nlohmann::json{{"chat_template", jinja}}.dump();
    const std::string error = error_of<DataError>([&] { find_template(config, "f"); });
    const size_t at = error.find(", of hash ");
    return error.substr(at, error.find('.', at) - at);
  };
  const std::string own = "{% for m in messages %}{{ 'it\\'s }} {%' + m.content }}{% endfor %}";
  EXPECT_TRUE(hash(own).starts_with(", of hash 0x")) << hash(own);
  for (const char* same :
       {"{%- for m in messages -%}\n {{- 'it\\'s }} {%' + m.content }}\n\n{%- endfor %}\n",
        "{# note: it's #}\n{% for m in messages %}\n  {# #}\n{{'it\\'s }} "
        "{%'+m.content}}{%endfor%}",
        "{% for m in messages %}\r\n{{ 'it\\'s }} {%' + m.content }}{%- endfor %}\r\n"})
    EXPECT_EQ(hash(same), hash(own)) << same;
  for (const char* other : {"{% for m in messages %}{{ 'it\\'s }}  {%' + m.content }}{% endfor %}",
                            "{% for m in messages %}{{ 'it\\'s }} {%' + m.content }}\n{% endfor %}",
                            "{% for m in messages %} {{ 'it\\'s }} {%' + m.content }}{% endfor %}"})
    EXPECT_NE(hash(other), hash(own)) << other;
}

TEST(DataChat, UnknownTemplatesAreRefused) {
  const std::string known = ". Say which of " + template_names() + " it is.";
  EXPECT_EQ(template_names(),
            "chatml, qwen2, qwen2.5, qwen3, smollm2, llama2, llama3, llama3.1, mistral-v0.1, "
            "mistral, mistral-v1, mistral-v3, zephyr");
  EXPECT_EQ(error_of<DataError>([] { find_template("{}", "f"); }),
            "chat: there is no chat_template: f" + known);
  const std::string error =
      error_of<DataError>([] { find_template(R"({"chat_template": "{{ x }}"})", "f"); });
  EXPECT_TRUE(error.starts_with("chat: the chat_template is not known: f has {{ x }}, of hash 0x"));
  EXPECT_TRUE(error.ends_with(known)) << error;
}

// Newer folders have a file of its own for it, or several in the config.
TEST(DataChat, TemplatesMayLieBesideTheConfigOrAmongOthers) {
  const std::string loop =
      "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + "
      "message['content'] + '<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ "
      "'<|im_start|>assistant\n' }}{% endif %}";
  EXPECT_EQ(find_template("{}", "f", loop).name, "chatml");
  EXPECT_EQ(find_template(R"({"chat_template": "{{ x }}"})", "f", loop).name, "chatml");
  std::string text;
  for (const char c : loop) text += c == '\n' ? std::string("\\n") : std::string(1, c);
  EXPECT_EQ(find_template(R"({"chat_template": [{"name": "tool_use", "template": "x"}, )"
                          R"({"name": "default", "template": ")" +
                              text + "\"}]}",
                          "f")
                .name,
            "chatml");
  EXPECT_THROW(find_template(R"({"chat_template": [{"name": "default"}, 3]})", "f"), DataError);
  EXPECT_TRUE(error_of<DataError>([] {
                find_template("{}", "f", "{{ x }}");
              }).starts_with("chat: the chat_template is not known: f has beside it {{ x }}"));
}

}  // namespace
}  // namespace plimsoll::data
