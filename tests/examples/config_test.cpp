// Options from a config file, and what a run folder keeps of them.
#include <nlohmann/json.hpp>

#include "examples/common/command_line.h"
#include "tests/data/testing.h"
#include "tests/examples/testing.h"

namespace plimsoll::examples {
namespace {

using data::TemporaryFolder;

// The line of a printed config that sets `name`.
std::string setting(const std::string& config, const std::string& name) {
  const size_t at = ("\n" + config).find("\n" + name + "=");
  return at == std::string::npos ? "" : config.substr(at, config.find('\n', at) - at);
}

TEST(ExamplesConfig, CommandLineBeforeFileBeforeDefaults) {
  const TemporaryFolder dir;
  const std::string file =
      dir.write("mine.toml", "# a comment\nlr = 0.25\nmodel = \"resnet8\"\ncheckpoint = true\n")
          .string();
  const Outcome printed = run("train_cnn --lr 0.125 --print-config --config " + file);
  EXPECT_EQ(printed.code, 0);
  EXPECT_EQ(setting(printed.output, "lr"), "lr=0.125");
  EXPECT_EQ(setting(printed.output, "model"), "model=\"resnet8\"");
  EXPECT_EQ(setting(printed.output, "checkpoint"), "checkpoint=true");
  EXPECT_EQ(setting(printed.output, "batch"), "batch=128");
  EXPECT_EQ(printed.output.find("\"\""), std::string::npos) << printed.output;
  // What is printed is a config: it gives itself.
  const std::string again = dir.write("again.toml", printed.output).string();
  EXPECT_EQ(run("train_cnn --print-config --config " + again).output, printed.output);
  for (const char* model : {"gpt", "textcls"}) {
    const Outcome text = run(std::string("train_transformer --print-config --model ") + model);
    const std::string name = dir.write(model, text.output).string();
    EXPECT_EQ(run("train_transformer --print-config --config " + name).output, text.output);
    EXPECT_EQ(setting(text.output, "layers").empty(), std::string(model) == "textcls");
  }
}

TEST(ExamplesConfig, WhatIsWrongIsNamed) {
  const TemporaryFolder dir;
  const std::string dots(2000, '.'), large(1 << 20, '\n');
  const std::pair<const char*, const char*> refusals[] = {
      {"# first\nlearning-rate = 0.1",
       "bad.toml, line 2: there is no such option: learning-rate. --print-config lists them."},
      {"[model]\nlayers = 2", "bad.toml, line 1: it has no tables: [model]. Write lines as "},
      {"[=a.b]", "bad.toml, line 1: it has no tables: [=a.b]."},
      {"model.layers = 2", "bad.toml, line 1: there is no such option: model.layers."},
      {dots.c_str(), "there is no such option: ..........................................."},
      {large.c_str(), "bad.toml: the file is too large: more than 1048576 bytes."},
      {"lr = fast", "bad.toml, line 1: --lr: not a number above 0: fast"},
      {"seed = 3\nbatch = 0", "bad.toml, line 2: --batch: not a whole number from 1 to 1000000: 0"},
      {"model = alexnet", "--model: alexnet not in {"},
      {"resume = here",
       "bad.toml, line 1: no config may hold resume. Give it on the command line."},
      {"lr = 0.1\nlr = 0.2", "bad.toml, line 2: it is set twice: lr."},
      {"data = \"a", "bad.toml, line 1: a string does not end."},
      {"data = \"a\\q\"", "bad.toml, line 1: no such escape in a string: \\q."},
      {"data = \"a\" b", "bad.toml, line 1: something follows a value: b."},
      {"seed = [1,", "bad.toml, line 2: an array does not end."},
      {"seed = [1 # one\n2]", "bad.toml, line 2: a comma is missing in an array."},
      {"seed =", "bad.toml, line 1: a value is missing."},
      {"= 3", "bad.toml, line 1: a name is missing before =."}};
  for (const auto& [text, sentence] : refusals) {
    const std::string file = dir.write("bad.toml", std::string(text) + "\n").string();
    const Outcome outcome = run("train_cnn --config " + file);
    EXPECT_EQ(outcome.code, 2) << text;
    EXPECT_NE(outcome.output.find(sentence), std::string::npos) << outcome.output;
  }
  EXPECT_EQ(run("train_cnn --config " + dir.text("nowhere.toml")).code, 2);
}

// As one word of the shell.
std::string quoted(const std::string& text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

// A path may hold what means something in TOML: the config of its run names the same file.
TEST(ExamplesConfig, ARunGoesOnWithDataOfAnyName) {
  for (const std::string name : {"a#b.txt", "it's \"#1\".txt", "two\nlines.txt",
                                 "back\\slash,[x].txt", " = .txt", "\xc3\xa9\t.txt"}) {
    SCOPED_TRACE(name);
    const TemporaryFolder dir;
    const std::string data = "text:" + dir.write(name, std::string(400, 'a') + "b\n").string();
    const std::string folder = dir.text("run");
    const Outcome begun =
        run("train_transformer --layers 1 --width 16 --heads 2 --context 8 --batch "
            "2 --steps 4 --eval-every 4 --stop-after 2 --run " +
            folder + " --data " + quoted(data));
    ASSERT_EQ(begun.code, 0) << begun.output;
    EXPECT_EQ(value_in_config(folder + "/config.toml", "data"), data);
    const Outcome resumed = run("train_transformer --resume " + folder);
    EXPECT_EQ(resumed.code, 0) << resumed.output;
    EXPECT_NE(resumed.output.find("step 4/4"), std::string::npos) << resumed.output;
  }
}

TEST(ExamplesConfig, ReadsLinesOfToml) {
  const TemporaryFolder dir;
  const std::string file =
      dir.write("all.toml",
                "# comment\r\n\n  a = 1 # one\r\nb=\"x # \\\"y\\\" \\u00e9\\n\" # two\n"
                "c = 'C:\\new' \nd\n\"e\" = [1, \"t,wo\", # three\n  3,\n]\nf = a b\n"
                "g = []\nh = true")
          .string();
  std::string text;
  for (const auto& [name, values, place] : read_config(file)) {
    text += name + ':';
    for (const std::string& value : values) text += '<' + value + '>';
  }
  EXPECT_EQ(text,
            "a:<1>b:<x # \"y\" \xc3\xa9\n>c:<C:\\new>d:<true>e:<1><t,wo><3>f:<a b>g:h:<true>");
  for (const std::string value :
       {"1e-3", "true", "", "a", "\"", "\\", "\x01\x7f\n\t#'", "0x10", "-"}) {
    const std::string again = dir.write("one.toml", "x=" + to_toml(value)).string();
    EXPECT_EQ(read_config(again).at(0).values, std::vector{value});
  }
}

TEST(ExamplesConfig, RunsThatCannotGoOnAreRefused) {
  const TemporaryFolder dir;
  const std::string run_folder = dir.text("run");
  const std::string train =
      "train_transformer --layers 1 --width 16 --heads 2 --context 8 --batch 2 --steps 4 "
      "--eval-every 4 ";
  ASSERT_EQ(run(train + "--stop-after 3 --run " + run_folder).code, 0);
  const std::string config = data::read_text(dir / "run" / "config.toml");
  EXPECT_EQ(setting(config, "width"), "width=16");
  const std::tuple<std::string, int, std::string> refusals[] = {
      {train + "--run " + run_folder, 2, "run: there is a training in this folder: "},
      {"train_transformer --resume", 2, "--resume: it names no run, and there is no --run."},
      {"train_transformer --resume " + dir.text("nowhere"), 2, "--resume: there is no such run: "},
      {"train_transformer --batch 4 --resume " + run_folder, 2,
       " was saved with batch 2, not with 4. Give the same, or begin anew."},
      {"train_transformer --width 32 --resume " + run_folder, 3, ": f32 ["},
      {"train_transformer --heads 4 --resume " + run_folder, 2,
       " was saved with heads 2, not with 4."},
      {"train_cnn --config " + dir.text("none.toml") + " --resume " + run_folder, 2, "none.toml"},
      {"train_transformer --budget 1kB --resume " + run_folder, 2,
       "the budget is too small: 1000 bytes"}};
  for (const auto& [command, code, sentence] : refusals) expect_refusal(command, code, sentence);
  EXPECT_EQ(data::read_text(dir / "run" / "config.toml"), config);  // refusals change nothing
  // A run that was damaged goes on from the file before; an old one is the start of a new run.
  const Outcome resumed = run("train_transformer --resume " + run_folder);
  ASSERT_EQ(resumed.code, 0) << resumed.output;
  const auto newest = dir / "run" / "saves" / "step-000000004-best.safetensors";
  std::filesystem::resize_file(newest, std::filesystem::file_size(newest) - 5);
  const Outcome older = run("train_transformer --resume " + run_folder);
  EXPECT_EQ(older.code, 0);
  EXPECT_NE(older.output.find("resumed after 3 batches from "), std::string::npos) << older.output;
  EXPECT_TRUE(std::filesystem::exists(newest));  // written again, and what was there set aside
  EXPECT_TRUE(std::filesystem::exists(newest.string() + ".damaged"));
  const Outcome branch = run("train_transformer --run " + dir.text("branch") + " --resume " +
                             dir.text("run/saves/step-000000003.safetensors") + " --steps 6");
  EXPECT_EQ(branch.code, 0) << branch.output;
  EXPECT_NE(branch.output.find("step 6/6"), std::string::npos) << branch.output;
  // Also one that ends before its first batch: it has the state that it began with.
  const std::string early = "train_transformer --run " + dir.text("early") + " --resume ";
  EXPECT_EQ(run(early + run_folder + " --steps 4").code, 0);
  const Outcome later = run("train_transformer --resume " + dir.text("early") + " --steps 6");
  EXPECT_NE(later.output.find("resumed after 4 batches"), std::string::npos) << later.output;
  // The command line, then --config, then the run's own.
  std::ofstream(dir / "c.toml") << "steps=9\nlr=0.25\n";
  const Outcome all = run("train_transformer --resume " + run_folder + " --config " +
                          dir.text("c.toml") + " --lr 0.5 --print-config");
  EXPECT_EQ(setting(all.output, "lr"), "lr=0.5") << all.output;
  EXPECT_EQ(setting(all.output, "steps"), "steps=9");
  EXPECT_EQ(setting(all.output, "width"), "width=16");
}

// A config that was edited is compared with the state, and one that is gone is named.
TEST(ExamplesConfig, ResumingSaysWhatIsNotAsItWas) {
  const TemporaryFolder dir;
  const std::string folder = dir.text("run"), resume = "train_transformer --resume " + folder;
  const std::string train =
      "train_transformer --layers 1 --width 16 --heads 2 --context 8 --batch 2 --steps 8 "
      "--eval-every 8 --stop-after 2 ";
  ASSERT_EQ(run(train + "--lr 0.25 --run " + folder).code, 0);
  EXPECT_EQ(run(resume + " --stop-after 1").output.find("from here on"), std::string::npos);
  std::string config = data::read_text(dir / "run" / "config.toml");
  config.replace(config.find("lr=0.25"), 7, "lr=0.5");
  dir.write("run/config.toml", config);
  const Outcome edited = run(resume + " --stop-after 1 --precision bf16 --steps 9 --dropout 0.5");
  for (const char* said :
       {"  lr 0.5 from here on; it was 0.25\n", "  precision bf16 from here on; it was f32\n",
        "  steps 9 from here on; it was 8\n", "  dropout 0.5 from here on; it was 0\n"})
    EXPECT_NE(edited.output.find(said), std::string::npos) << edited.output;
  std::filesystem::remove(dir / "run" / "config.toml");
  const Outcome lost = run(train + "--resume " + folder);
  EXPECT_EQ(lost.code, 0) << lost.output;
  EXPECT_TRUE(lost.output.starts_with("--resume: this run has lost its config: there is no "))
      << lost.output;
}

TEST(ExamplesConfig, PatienceEndsATraining) {
  const TemporaryFolder dir;
  const Outcome outcome =
      run("train_transformer --layers 1 --width 16 --heads 2 --context 8 --batch 2 --steps 400 "
          "--eval-every 2 --lr 2 --patience 2 --run " +
          dir.text("run") + " --json " + dir.text("run.json"));
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_NE(outcome.output.find("stopped early: 2 evaluations without a lower loss than "),
            std::string::npos)
      << outcome.output;
  const auto report = nlohmann::json::parse(data::read_text(dir / "run.json"));
  EXPECT_LT(report["steps"].size(), 200U);
  EXPECT_GT(report["steps"].size(), 2U);
}

}  // namespace
}  // namespace plimsoll::examples
