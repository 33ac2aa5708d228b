// The program generate: what it writes from a run, what it refuses, and that it holds what it
// planned.
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/data/testing.h"
#include "tests/examples/small_data.h"
#include "tests/examples/testing.h"
#include "train/run_folder.h"
#include "train/saves.h"

namespace plimsoll::examples {
namespace {

using nlohmann::json;

// A run of a small GPT on a text of lines, trained once for all tests.
class GenerateProgram : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    dir_ = new data::TemporaryFolder;
    dir_->write("text", small_text());
    const Outcome outcome =
        run("train_transformer --layers 2 --heads 2 --width 32 --context 48 --batch 4 --steps 150 "
            "--eval-every 75 --lr 1e-2 --data text:" +
            path("text") + " --run " + path("run"));
    ASSERT_EQ(outcome.code, 0) << outcome.output;
  }
  static void TearDownTestSuite() { delete dir_; }

  static std::string path(const std::string& name) { return dir_->text(name); }
  static std::string from_run() { return "generate --run " + path("run") + " --prompt 'line 1' "; }
  // What goes to the standard output alone.
  static Outcome written_by(const std::string& command, const std::string& before = "") {
    return run(command + " 2>/dev/null)", "(" + before);
  }
  static json figures(const std::string& command) {
    std::filesystem::remove(*dir_ / "json");
    const Outcome outcome = run(command + " --json " + path("json"));
    EXPECT_EQ(outcome.code, 0) << outcome.output;
    return outcome.code == 0 ? json::parse(std::ifstream(*dir_ / "json")) : json();
  }

  static inline data::TemporaryFolder* dir_ = nullptr;
};

TEST_F(GenerateProgram, WritesWhatTheSeedSays) {
  const Outcome greedy = written_by(from_run() + "--greedy --tokens 30");
  EXPECT_EQ(greedy.code, 0);
  EXPECT_TRUE(greedy.output.starts_with("line 1")) << greedy.output;
  EXPECT_EQ(greedy.output.size(), 6 + 30 + 1) << greedy.output;
  EXPECT_NE(greedy.output.find(" of some text\n"), std::string::npos) << greedy.output;
  const auto written = [](int64_t seed, const std::string& more) {
    return figures(from_run() + "--tokens 60 --seed " + std::to_string(seed) + more)["tokens"];
  };
  EXPECT_EQ(written(1, ""), written(1, " --threads 1"));
  EXPECT_NE(written(1, ""), written(2, ""));
  EXPECT_EQ(written(1, " --top-k 1"), written(2, " --top-p 1e-9"));
  dir_->write("prompt", std::string("line 1"));
  const std::string generate = "generate --greedy --tokens 30 --run " + path("run");
  EXPECT_EQ(written_by(generate + " --prompt-file " + path("prompt")).output, greedy.output);
  EXPECT_EQ(written_by(generate + " --prompt-file -", "printf 'line 1' | ").output, greedy.output);
}

TEST_F(GenerateProgram, HoldsWhatItPlannedBeyondItsContextToo) {
  for (const std::string more : {"--tokens 10", "--tokens 200", "--context 20 --tokens 50",
                                 "--precision bf16 --tokens 60", "--precision f16 --tokens 5"}) {
    const json run = figures(from_run() + more);
    EXPECT_EQ(run["peak_bytes"], run["planned_bytes"]) << more;
    EXPECT_GT(run["cache_bytes"], 0);
  }
  const json shorter = figures(from_run() + "--precision bf16"), full = figures(from_run());
  EXPECT_EQ(2 * shorter["cache_bytes"].get<int64_t>(), full["cache_bytes"].get<int64_t>());
}

// The smallest budget is named, works, and is held; how a prompt is read changes nothing.
TEST_F(GenerateProgram, ABudgetIsKeptOrRefusedNamingTheSmallest) {
  const std::string command = from_run() + "--tokens 80 --context 48 ";
  const Outcome refused = run(command + "--budget 50KiB");
  EXPECT_EQ(refused.code, 2);
  const int64_t smallest = number_after(refused.output, "a context of 48 tokens takes ");
  ASSERT_GT(smallest, 0) << refused.output;
  EXPECT_TRUE(
      refused.output.starts_with("--budget 50KiB: generator: the budget is too small: "
                                 "51200 bytes, and "))
      << refused.output;
  const json free = figures(command),
             least = figures(command + "--budget " + std::to_string(smallest));
  EXPECT_EQ(least["peak_bytes"], smallest);
  EXPECT_LT(smallest, free["peak_bytes"]);
  EXPECT_EQ(least["tokens"], free["tokens"]);
  EXPECT_EQ(run(command + "--budget " + std::to_string(smallest - 1)).code, 2);
}

TEST_F(GenerateProgram, ReadsTheNewestWholeSaveOfARunThatGoesOn) {
  const json before = figures(from_run());
  const train::RunFolder other(path("run"), /*resume=*/true);  // another process trains on
  std::ofstream(train::RunFolder::saves_of(path("run")) / "step-000000999.safetensors.aBcDeF")
      << "half";
  EXPECT_EQ(figures(from_run())["tokens"], before["tokens"]);

  const auto saves = train::list_saves(train::RunFolder::saves_of(path("run")));
  ASSERT_GE(saves.size(), 2U);
  EXPECT_EQ(figures("generate --prompt 'line 1' --run " + saves[0].file.string())["tokens"],
            before["tokens"]);
  const auto damaged = train::RunFolder::saves_of(path("run")) / "step-000000998.safetensors";
  std::filesystem::copy(saves[0].file, damaged);
  {
    std::fstream file(damaged, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-5, std::ios::end);
    file.put('x');
  }
  const Outcome outcome = run(from_run() + "--tokens 3");
  std::filesystem::remove(damaged);
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_NE(outcome.output.find("state: the file is damaged: "), std::string::npos)
      << outcome.output;
}

TEST_F(GenerateProgram, RefusesOptionsInOneSentence) {
  const std::string go = from_run();
  expect_refusal("generate --prompt a", 2,
                 "--run: there is no model to write with. Name a run, or use --model with a "
                 "published folder, or gpt2-124M with --weights and --tokenizer.\n");
  expect_refusal(go + "--model gpt2-124M", 2, "--run: a run has its own model and weights: ");
  expect_refusal(go + "--temperature 0", 2,
                 "--temperature: not a number above 0: 0. For the most probable token use "
                 "--greedy.\n");
  expect_refusal(go + "--temperature -1", 2, "--temperature: not a number above 0: -1. For ");
  expect_refusal(go + "--top-p 0", 2, "--top-p: not a number above 0 and at most 1: 0\n");
  expect_refusal(go + "--top-p 1.5", 2, "--top-p: not a number above 0 and at most 1: 1.5\n");
  expect_refusal(go + "--top-k 0", 2, "--top-k: not a whole number from 1 to 1000000000: 0\n");
  expect_refusal(go + "--tokens 0", 2, "--tokens: not a whole number from 1 to 1000000000: 0\n");
  expect_refusal(go + "--budget 0", 2, "--budget: not a size above 0, as in 300MiB: 0\n");
  expect_refusal(go + "--precision f64", 2, "--precision: f64 not in {f32,bf16,f16}");
  expect_refusal(go + "--greedy --top-k 3", 2,
                 "--top-k: --greedy draws nothing: it takes no --top-k. Leave one of them out.\n");
  expect_refusal(go + "--prompt-file x", 2,
                 "--prompt-file: --prompt has a text already: x. Leave one of them out.\n");
  expect_refusal(go + "--context 49", 2,
                 "--context: gpt has 48 positions: 49. Use at most as many.\n");
  expect_refusal(go + "--context 5", 2,
                 "--prompt: it is longer than the context: 6 tokens for 5. Use a shorter one.\n");
  expect_refusal("generate --model gpt2-124M --prompt a", 2,
                 "--tokenizer: --model gpt2-124M writes tokens, and nothing says what text they "
                 "are. Name its folder.\n");
  expect_refusal("generate --model gpt2-124M --prompt a --tokenizer " + path("none"), 3,
                 path("none"));
}

TEST_F(GenerateProgram, RefusesPromptsInOneSentence) {
  const std::string go = "generate --run " + path("run") + " ";
  expect_refusal(go, 2, "--prompt: it is empty: there is nothing to go on from. Give some text.\n");
  for (const char* none :
       {"--prompt= --tokens 3", "--prompt '' --tokens 3"})  // no word is swallowed
    expect_refusal("generate --run " + path("run") + " " + none, 2,
                   "--prompt: it is empty: there is nothing to go on from. Give some text.\n");
  expect_refusal(go + "--prompt ''", 2, "--prompt: it is empty: ");
  expect_refusal(go + "--prompt-file - </dev/null", 2, "--prompt-file: it is empty: ");
  expect_refusal(go + "--prompt-file " + path("none"), 3, path("none"));
  expect_refusal(go + "--prompt 'line @'", 2,
                 "--prompt: encode: a byte is not in the vocabulary: byte 64 at position 5 of 6. "
                 "Use only characters of the training text.\n");
  expect_refusal(go + "--prompt='line='", 2,  // the value ends with it
                 "--prompt: encode: a byte is not in the vocabulary: byte 61 at position 4 of 5. ");
  expect_refusal(go + "--prompt '" + std::string(49, 'e') + "'", 2,
                 "--prompt: it is longer than the context: 49 tokens for 48. Use a shorter one.\n");
}

TEST_F(GenerateProgram, RefusesRunsInOneSentence) {
  const auto from = [](const std::string& name) {
    return "generate --prompt 'line 1' --run " + path(name) + " ";
  };
  expect_refusal(from("none"), 2,
                 "--run: there is no such run: " + path("none") +
                     ". Name the folder of one, or a file that it saved.\n");
  std::filesystem::create_directory(*dir_ / "nothing");
  expect_refusal(from("nothing"), 3, "--run " + path("nothing") + ": nothing is saved there ");
  expect_refusal(from("text"), 3, path("text"));

  const std::string train = "train_transformer --steps 1 --batch 1 --context 8 ";
  ASSERT_EQ(run(train + "--model textcls --data synthetic --run " + path("classes")).code, 0);
  expect_refusal(from("classes"), 2,
                 "--run " + path("classes") +
                     ": it trained textcls, which writes no text. Name a run "
                     "of gpt or gpt2-124M.\n");
  ASSERT_EQ(
      run(train + "--width 8 --heads 2 --layers 1 --data synthetic --run " + path("synthetic"))
          .code,
      0);
  expect_refusal(from("synthetic"), 2,
                 ": it trained on synthetic, which does not say what text a token is. Add "
                 "--tokenizer, or --data with its text.\n");

  std::filesystem::rename(*dir_ / "text", *dir_ / "moved");
  expect_refusal(from_run(), 3, " The run read it there: say with --data where it lies now.\n");
  EXPECT_EQ(run(from_run() + "--data text:" + path("moved")).code, 0);
  dir_->write("text", small_text() + "!");
  expect_refusal(from_run(), 3,
                 ": the text has changed since the training: its first 90 %, which are trained on, "
                 "are ");
  std::string other = small_text();
  std::swap(other[other.size() - 3], other[other.size() - 4]);  // as long, of the same characters
  dir_->write("text", other);
  expect_refusal(
      from_run(), 3,
      "--data text:" + path("text") +
          ": the text has changed since the training: it is as long as it was, and other "
          "characters stand in it. Bring the old one back.\n");
  std::filesystem::rename(*dir_ / "moved", *dir_ / "text");
}

// Bytes, and tokens that no text has: as many as GPT-2's.
void write_tokenizer(const data::TemporaryFolder& dir, int64_t size) {
  json tokens;
  const auto text = [](int c) {
    return c < 128
               ? std::string(1, static_cast<char>(c))
               : std::string{static_cast<char>(0xC0 | c >> 6), static_cast<char>(0x80 | c % 64)};
  };
  int64_t id = 0;
  int next = 256;
  for (int byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte != 0xAD);
    tokens[text(printable ? byte : next++)] = id++;
  }
  for (; id < size; ++id) tokens["<" + std::to_string(id) + ">"] = id;
  dir.write("vocab.json", tokens.dump());
  dir.write("merges.txt", std::string("#version: 0.2\n"));
}

TEST_F(GenerateProgram, PlansGpt2WithoutItsWeights) {
  const data::TemporaryFolder tokenizer;
  write_tokenizer(tokenizer, 50257);
  const std::string go =
      "generate --model gpt2-124M --prompt abc --tokenizer " + tokenizer.path().string() + " ";
  const Outcome plan = run(go + "--plan-only --context 1024 --json " + path("plan"));
  EXPECT_EQ(plan.code, 0) << plan.output;
  for (const char* part : {"plan: a context of 1024 tokens, 3 of a prompt read together\n",
                           "497759232 bytes", "75497472 bytes"})
    EXPECT_NE(plan.output.find(part), std::string::npos) << part << "\n" << plan.output;
  const json planned = json::parse(std::ifstream(*dir_ / "plan"));
  EXPECT_EQ(planned["context"], 1024);
  EXPECT_EQ(planned["cache_bytes"], 75497472);
  expect_refusal(go, 2, "--weights: --model gpt2-124M has no weights of its own. Name ");
  expect_refusal(go + "--weights " + path("text"), 3, "--weights " + path("text") + ": ");
  expect_refusal(go + "--budget 500MiB --context 1024", 2, "Allow that many, or use a context of ");
  write_tokenizer(tokenizer, 300);
  expect_refusal(go, 3, ": it has 300 tokens, and the model was trained with 50257. Name the one ");
  expect_refusal(from_run() + "--tokenizer " + tokenizer.path().string(), 3,
                 ": it has 300 tokens, and the model was trained with ");
}

}  // namespace
}  // namespace plimsoll::examples
