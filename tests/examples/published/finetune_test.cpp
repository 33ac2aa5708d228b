// finetune, and the programs that take what it makes: published folders through all of them.
#include <fstream>
#include <nlohmann/json.hpp>

#include "nn/published/adapter.h"
#include "tests/data/byte_tokenizer.h"
#include "tests/examples/testing.h"
#include "tests/nn/published/small_folder.h"

namespace plimsoll::examples {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kChatml =
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + "
    "message['content'] + '<|im_end|>' + '\\n'}}{% endfor %}{% if add_generation_prompt %}{{ "
    "'<|im_start|>assistant\\n' }}{% endif %}";

class Finetune : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    dir_ = new data::TemporaryFolder;
    const fs::path folder = published::small_folder(*dir_);
    std::ofstream(folder / "tokenizer.json")
        << data::byte_tokenizer({"<|im_start|>", "<|im_end|>"});
    std::ofstream(folder / "tokenizer_config.json") << json{{"chat_template", kChatml}};
    std::ofstream chat(*dir_ / "chat.jsonl");
    for (int i = 0; i < 20; ++i)
      chat << json{{"messages",
                    {{{"role", "user"}, {"content", cat("say ", i % 4)}},
                     {{"role", "assistant"}, {"content", cat("yes ", i % 4)}}}}}
           << "\n";
  }
  static void TearDownTestSuite() { delete dir_; }

  static std::string path(const std::string& name) { return dir_->text(name); }
  static std::string command(const std::string& more) {
    return "finetune --model " + path("model") + " --data " + path("chat.jsonl") +
           " --lr 1e-2 --schedule constant --warmup 0 " + more;
  }
  static json trained(const std::string& more) {
    fs::remove(*dir_ / "json");
    const Outcome outcome = run(command(more) + " --json " + path("json"));
    EXPECT_EQ(outcome.code, 0) << outcome.output;
    return outcome.code == 0 ? json::parse(std::ifstream(*dir_ / "json")) : json();
  }

  static inline data::TemporaryFolder* dir_ = nullptr;
};

TEST_F(Finetune, AnswersAreLearntInTheBytesThatWerePlanned) {
  int number = 0;
  for (const std::string more :
       {"--lora 8", "--lora 4 --lora-targets q_proj,v_proj --checkpoint",
        "--lora 8 --precision bf16", "--lora 8 --base f32", "--lora 8 --base int8",
        "--lora 8 --base nf4", "--lora 8 --base nf4 --precision bf16", ""}) {
    const std::string name = cat("run", number++);
    const json run = trained(more + " --epochs 8 --run " + path(name));
    const json& last = run["final"];
    EXPECT_EQ(last["peak_bytes"].get<int64_t>() + last["mapped_bytes"].get<int64_t>(),
              last["planned_bytes"])
        << more;
    EXPECT_EQ(last["mapped_bytes"] > 0, !more.empty()) << more;
    EXPECT_LT(last["val_loss"], 5.6) << more;  // of 300 tokens: log(300) is 5.7
  }
}

TEST_F(Finetune, GoesOnInAnotherProcessWithTheSameBits) {
  for (const std::string base : {"file", "nf4"}) {
    const std::string tune = "--lora 8 --epochs 4 --base " + base + " --run ";
    trained(tune + path("whole" + base));
    const Outcome part = run(command(tune + path("parts" + base) + " --stop-after 7"));
    EXPECT_EQ(part.code, 0) << part.output;
    EXPECT_FALSE(fs::exists(*dir_ / ("parts" + base) / "adapter"));
    for (const char* left : {"adapter.unfinished", "adapter.unfinished.1234.tmp"})  // by a kill
      fs::create_directories(*dir_ / ("parts" + base) / left / "any");
    fs::create_directories(*dir_ / ("parts" + base) / "adapter.unfinished notes");
    const Outcome rest = run("finetune --resume " + path("parts" + base));
    EXPECT_EQ(rest.code, 0) << rest.output;
    EXPECT_EQ(data::names_in(*dir_ / ("parts" + base)),
              (std::vector<std::string>{"adapter", "adapter.unfinished notes", "config.toml",
                                        "log.csv", "metrics.jsonl", "saves"}));
    const auto adapter = [&](const std::string& name) {
      return data::read_text(*dir_ / (name + base) / "adapter" / "adapter_model.safetensors");
    };
    EXPECT_EQ(adapter("parts"), adapter("whole"));
    // Evaluated alone, a run gets no result.
    const auto made = fs::last_write_time(*dir_ / ("parts" + base) / "adapter");
    const Outcome evaluated =
        run("finetune --evaluate --run " + path("parts" + base) + " --json " + path("evaluated"));
    EXPECT_EQ(evaluated.code, 0) << evaluated.output;
    EXPECT_GT(json::parse(std::ifstream(*dir_ / "evaluated"))["final"]["val_loss"], 0);
    EXPECT_EQ(fs::last_write_time(*dir_ / ("parts" + base) / "adapter"), made);
  }
}

// What a run goes on with is what it began with, and its result does not replace its base.
TEST_F(Finetune, RunsThatCannotGoOnAreRefused) {
  const Outcome part = run(command("--lora 8 --epochs 4 --stop-after 3 --run " + path("scaled")));
  EXPECT_EQ(part.code, 0) << part.output;
  const std::string resume = "finetune --resume " + path("scaled");
  expect_refusal(resume + " --lora-alpha 64", 2, " was saved with alpha 0, not with 64.");
  fs::copy(*dir_ / "model", *dir_ / "other", fs::copy_options::recursive);
  std::fstream weights(*dir_ / "other" / "model.safetensors", std::ios::in | std::ios::out);
  weights.seekp(-5, std::ios::end);
  weights.put('x');
  weights.close();
  expect_refusal(resume + " --model " + path("other"), 2, " was saved with other weights.");
  expect_refusal(resume + " --base nf4", 2,
                 " was saved with type of frozen weights file, not with nf4.");
  for (const char* option : {"--lora-alpha 3", "--lora-targets q_proj", "--base f32", "--base nf4"})
    expect_refusal(command(option), 2, "it is for adapters, and all weights are trained.");
  fs::create_directories(*dir_ / "replaced");
  fs::copy(*dir_ / "model", *dir_ / "replaced" / "model", fs::copy_options::recursive);
  expect_refusal("finetune --model " + path("replaced/model") + " --data " + path("chat.jsonl") +
                     " --run " + path("replaced"),
                 2, "--run: its result would replace the model that is trained: ");
  EXPECT_TRUE(fs::exists(*dir_ / "replaced" / "model" / "config.json"));
}

TEST_F(Finetune, GenerateTalksWithTheAdapter) {
  trained("--lora 8 --epochs 40 --run " + path("long"));
  const std::string generate =
      "generate --greedy --tokens 8 --model " + path("model") +
      " --prompt '<|im_start|>user\nsay 2<|im_end|>\n<|im_start|>assistant\n'";
  const Outcome base = run(generate), tuned = run(generate + " --adapter " + path("long/adapter"));
  EXPECT_EQ(base.code, 0) << base.output;
  EXPECT_EQ(tuned.code, 0) << tuned.output;
  EXPECT_NE(tuned.output.find("yes "), std::string::npos) << tuned.output;
  EXPECT_EQ(base.output.find("yes "), std::string::npos) << base.output;
  EXPECT_NE(base.output.find(" in mapped files"), std::string::npos) << base.output;
  for (const char* kind : {"int8", "nf4"}) {
    const std::string of_kind = cat(" --base ", kind, " --json ", path("json"));
    const Outcome fewer = run(generate + " --adapter " + path("long/adapter") + of_kind);
    EXPECT_EQ(fewer.code, 0) << fewer.output;
    EXPECT_NE(fewer.output.find("yes "), std::string::npos) << fewer.output;
    const json figures = json::parse(std::ifstream(*dir_ / "json"));
    EXPECT_EQ(figures["planned_bytes"],
              figures["peak_bytes"].get<int64_t>() + figures["mapped_bytes"].get<int64_t>());
  }
}

TEST_F(Finetune, ExportModelMergesTheAdapter) {
  trained("--lora 8 --base nf4 --epochs 40 --run " + path("merging"));
  const std::string merge = "export_model --model " + path("model") + " --base nf4 --adapter " +
                            path("merging/adapter") + " --output ";
  const Outcome folder = run(merge + path("merged")),
                file = run(merge + path("a.gguf") + " --format q8_0");
  EXPECT_EQ(folder.code, 0) << folder.output;
  EXPECT_EQ(file.code, 0) << file.output;
  EXPECT_TRUE(data::read_text(*dir_ / "a.gguf").starts_with("GGUF"));
  EXPECT_NE(data::read_text(*dir_ / "a.gguf").find(kChatml), std::string::npos);
  std::ofstream(*dir_ / "merged" / "chat_template.jinja") << "{# beside it #}" << kChatml;
  EXPECT_EQ(run("export_model --model " + path("merged") + " --output " + path("c.gguf") +
                " --format q8_0")
                .code,
            0);
  EXPECT_NE(data::read_text(*dir_ / "c.gguf").find("{# beside it #}"), std::string::npos);
  const Outcome writes =
      run("generate --greedy --tokens 8 --model " + path("merged") +
          " --prompt '<|im_start|>user\nsay 2<|im_end|>\n<|im_start|>assistant\n'");
  EXPECT_NE(writes.output.find("yes "), std::string::npos) << writes.output;
  expect_refusal(merge + path("merged"), 3, "export: this is there already: ");
  expect_refusal(merge + path("a.gguf") + " --format f16", 3, "gguf: this is there already: ");
  expect_refusal(merge + path("b") + " --format q5_0", 2, "--format");
}

TEST_F(Finetune, APlanNeedsNoTraining) {
  const Outcome plan = run(command("--lora 8 --plan-only --json " + path("plan")));
  EXPECT_EQ(plan.code, 0) << plan.output;
  const int64_t planned_bytes = json::parse(std::ifstream(*dir_ / "plan"))["planned_bytes"];
  EXPECT_NE(plan.output.find(cat("total ", planned_bytes, " bytes")), std::string::npos)
      << plan.output;
  // fit has config.json alone.
  fs::create_directories(*dir_ / "config");
  fs::copy_file(*dir_ / "model" / "config.json", *dir_ / "config" / "config.json",
                fs::copy_options::overwrite_existing);
  const std::string fit =
      "fit --vram 1400KiB --context 64 --precisions f32 --plan-seconds 0.01 --model " +
      path("config");
  // It is what finetune plans, and the loss, which is copied out of the plan.
  for (const std::string more :
       {"", " --lora 4", " --lora 4 --base int8", " --lora 4 --base nf4"}) {
    const Outcome fits = run(fit + more + " --json " + path("fit"));
    EXPECT_EQ(fits.code, 0) << fits.output;
    const json row = json::parse(std::ifstream(*dir_ / "fit"))["rows"][0];
    const auto batch = row["batch"].get<int64_t>(), bytes = row["bytes"].get<int64_t>();
    EXPECT_GT(batch, 0);
    EXPECT_LE(bytes, 1400 << 10);
    const Outcome planned = run(command(cat(more, " --context 64 --plan-only --batch ", batch)));
    EXPECT_NE(planned.output.find(cat("total ", bytes - 64, " bytes\n")), std::string::npos)
        << row << "\n"
        << planned.output;
  }
  expect_refusal(fit + " --context 65", 2, "--context: ");
  expect_refusal(fit + " --lora 100000", 2,
                 "--lora: lora: the rank is not 1 to 16: 100000 for a matrix of 16 x 16.");
  expect_refusal(fit + " --lora 2 --lora-targets nothing", 2,
                 "--lora: lora: the target matches nothing: nothing in LlamaForCausalLM");
  expect_refusal("fit --vram 1MiB --model lenet --lora 3", 2,
                 "--lora: --model lenet has no base: it takes no --lora.");
}

TEST_F(Finetune, RefusesInOneSentence) {
  const auto with_chat = [&](const std::string& text) {
    std::ofstream(*dir_ / "bad.jsonl") << text;
    return "finetune --lora 2 --model " + path("model") + " --data " + path("bad.jsonl");
  };
  const std::string good =
      R"({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]})"
      "\n";
  const std::string form =
      ". Write {\"messages\": [{\"role\": \"user\", \"content\": \"...\"}, ...]}.\n";
  expect_refusal(with_chat(good + "{\"messages\": "), 3,
                 "chat: the JSON cannot be read: " + path("bad.jsonl") + " line 2 at byte ");
  expect_refusal(with_chat(good + good + "{\"text\": \"a\"}"), 3,
                 "chat: the line has not messages alone: " + path("bad.jsonl") + " line 3" + form);
  expect_refusal(with_chat(good + R"({"messages": [{"role": "user", "content": "a"}]})"), 3,
                 "chat: users and answers do not take turns, an answer last: " + path("bad.jsonl") +
                     " line 2" + form);
  expect_refusal(with_chat(good), 3,
                 "chat: there is one conversation alone: " + path("bad.jsonl") +
                     ". Write another, to be held out.\n");
  expect_refusal(with_chat(""), 3, "chat: there is no conversation: ");
  std::string longest = good + good;
  longest.replace(longest.find("\"a\""), 3, "\"" + std::string(70, 'x') + "\"");
  expect_refusal(with_chat(longest), 3,
                 "chat: the conversation is longer than the context: " + path("bad.jsonl") +
                     " line 1 has 91 tokens for 64. Shorten it.\n");
  expect_refusal(command("--lora 2 --template vicuna"), 3,
                 "chat: this template is not known: vicuna. Those known are chatml, qwen2, ");
  const std::string with_system =
      R"({"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "a"}, )"
      R"({"role": "assistant", "content": "b"}]})";
  expect_refusal(with_chat(good + with_system) + " --template mistral-v3", 3,
                 "chat: mistral-v3 has no place for a system's message: " + path("bad.jsonl") +
                     " line 2. Put its text into the first user's message.\n");
  expect_refusal(command("--lora 17"), 2,
                 "--lora: lora: the rank is not 1 to 16: 17 for a matrix of 16 x 16.");
  expect_refusal(command("--lora 2 --lora-targets c_attn"), 2,
                 "--lora: lora: the target matches nothing: c_attn in LlamaForCausalLM");
  expect_refusal("finetune --data x", 2, "--model: there is no model.");
  expect_refusal("generate --prompt a --model " + path("nothing"), 2,
                 "--model: there is no such folder, and it is not gpt2-124M: ");
  expect_refusal("generate --prompt a --base nf4 --model gpt2-124M", 2,
                 "--base: it is of a model that --model names the folder of: nf4.");
  expect_refusal("generate --prompt a --adapter x --model gpt2-124M", 2,
                 "--adapter: it belongs to a model that --model names the folder of: x.");
}

}  // namespace
}  // namespace plimsoll::examples
