// Going on in another process: the files that a run saves are equal, to the last bit, however often
// it was ended on the way, by whom and where.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/data/testing.h"
#include "tests/examples/small_data.h"
#include "tests/examples/testing.h"
#include "tests/support/running.h"
#include "train/saves.h"

namespace plimsoll::examples {
namespace {

namespace fs = std::filesystem;
using data::TemporaryFolder;

class ExamplesResume : public testing::Test {
 protected:
  ExamplesResume() {
    write_small_images(dir);
    dir.write("text", small_text());
  }
  // A short training: 24 batches in two epochs, evaluated after each; or 24 updates.
  std::string cnn(const std::string& options, int epochs = 2) const {
    return "train_cnn --data mnist:" + dir.path().string() + " --batch 16 --epochs " +
           std::to_string(epochs) + " " + options;
  }
  std::string gpt(const std::string& options, int steps = 24) const {
    return "train_transformer --data text:" + dir.text("text") +
           " --layers 2 --width 32 --heads 2 --context 16 --batch 4 --dropout 0.1 --eval-every 10 "
           "--steps " +
           std::to_string(steps) + " " + options;
  }
  void expect_runs(const std::string& arguments, int code = 0) const {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, code) << arguments << "\n" << outcome.output;
  }
  // The bytes of what a run saved last, and after how many batches.
  std::pair<int64_t, data::Bytes> newest(const std::string& run) const {
    const auto saves = train::list_saves(dir / run / "saves");
    if (saves.empty()) return {-1, {}};
    return {saves[0].number, data::read_file(saves[0].file)};
  }
  std::string log(const std::string& run) const { return data::read_text(dir / run / "log.csv"); }

  // `batches` in one process and in three; the file of the first run.
  data::Bytes expect_equal(const std::string& train, int64_t batches = 20) {
    SCOPED_TRACE(train);
    const std::string number = std::to_string(++runs_), whole = "whole" + number,
                      parts = "parts" + number;
    const std::string common = train + " --log-every 3 --run ";
    expect_runs(common + dir.text(whole) + " --stop-after " + std::to_string(batches));
    expect_runs(common + dir.text(parts) + " --stop-after 10");
    EXPECT_EQ(newest(parts).first, 10);
    const std::string program = train.substr(0, train.find(' '));
    const std::string go_on = program + " --resume " + dir.text(parts) + " --stop-after ";
    expect_runs(go_on + "3");
    expect_runs(go_on + std::to_string(batches - 13));
    EXPECT_EQ(newest(whole).first, batches);
    EXPECT_TRUE(newest(whole) == newest(parts)) << "the states differ";
    EXPECT_EQ(log(whole), log(parts));
    EXPECT_GT(log(whole).size(), 300U);
    return newest(whole).second;
  }

  TemporaryFolder dir;

 private:
  int runs_ = 0;
};

// Batch norm's running statistics, dropout's keys, moments, loss scale: in each precision, op by op
// and captured; and all ways of running leave one file.
TEST_F(ExamplesResume, TwentyBatchesAreTenAndThreeAndSeven) {
  for (const std::string precision : {"f32", "bf16", "f16"}) {
    const std::string type = " --precision " + precision;
    for (const std::string model : {"lenet", "resnet8"}) {
      const data::Bytes captured = expect_equal(cnn("--model " + model + type));
      if (model == "lenet") continue;
      EXPECT_TRUE(expect_equal(cnn("--model " + model + type + " --mode eager")) == captured);
    }
    const data::Bytes captured = expect_equal(gpt(type));
    EXPECT_TRUE(expect_equal(gpt(type + " --mode eager --checkpoint")) == captured);
  }
}

// Masks, and images that are other ones in every epoch, whatever prepares them.
TEST_F(ExamplesResume, WithPruningAndAugmentation) {
  expect_equal(cnn("--model lenet --prune 0.8"));
  const std::string augment = "--model resnet8 --augment crop,flip,cutout --workers ";
  EXPECT_TRUE(expect_equal(cnn(augment + "3")) == expect_equal(cnn(augment + "0")));
}

// 3 batches make an update: after 10 and after 13 of them a window is under way.
TEST_F(ExamplesResume, AlsoInTheMiddleOfAWindow) {
  const std::string window = " --accumulate 3 --precision ";
  for (const std::string precision : {"f32", "f16"}) {
    const data::Bytes captured = expect_equal(cnn("--model resnet8" + window + precision));
    EXPECT_TRUE(expect_equal(cnn("--model resnet8 --mode eager" + window + precision)) == captured);
    expect_equal(gpt(window + precision));
  }
  expect_equal(gpt(window + "bf16 --model gpt"), 29);  // at the end of the run too
}

TEST_F(ExamplesResume, UnderABudget) {
  const std::string budget = " --cost model --plan-seconds 0.1 --budget ";
  EXPECT_TRUE(expect_equal(gpt(budget + "700kB")) == expect_equal(gpt("")));
  EXPECT_TRUE(expect_equal(cnn("--model resnet8" + budget + "6MB")) ==
              expect_equal(cnn("--model resnet8")));
}

// Loss scaling begins anew where it was another, which a line says; but a window that is under way
// is of scaled gradients.
TEST_F(ExamplesResume, WithAnotherLossScale) {
  const auto scale = [&](const std::string& run) {
    const formats::Safetensors state(train::list_saves(dir / run / "saves")[0].file);
    return state.has("loss_scaler.loss_scale") ? state.tensor("loss_scaler.loss_scale").item() : 0;
  };
  const std::string go_on = "train_transformer --stop-after 3 --resume " + dir.text("run");
  expect_runs(gpt("--stop-after 3 --run " + dir.text("run")));
  EXPECT_EQ(scale("run"), 0);
  for (const auto& [options, line, value] :
       {std::tuple(" --precision f16", "  loss scale dynamic from here on; it was none\n", 65536.),
        {" --precision f16 --loss-scale dynamic", "", 65536.},
        {" --precision f16 --loss-scale 512", "  loss scale 512 from here on; it was dynamic\n",
         512.},
        {" --precision f16 --loss-scale 512.0", "", 512.},
        {" --precision bf16 --loss-scale none", "  loss scale none from here on; it was 512\n",
         0.}}) {
    const Outcome outcome = run(go_on + options);
    EXPECT_EQ(outcome.code, 0) << outcome.output;
    EXPECT_EQ(outcome.output.find("loss scale") != std::string::npos, *line != 0) << options;
    EXPECT_NE(outcome.output.find(line), std::string::npos) << outcome.output;
    EXPECT_EQ(scale("run"), value) << options;
  }
  EXPECT_EQ(newest("run").first, 18);
  expect_runs(gpt("--accumulate 2 --stop-after 3 --run " + dir.text("window")));
  const Outcome refused = run("train_transformer --precision f16 --resume " + dir.text("window"));
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.output.find(" was saved with loss scale none, not with dynamic, and its "
                                "window.* was made with that."),
            std::string::npos)
      << refused.output;
}

// The report of the last process has the rows of all, and what goes wrong is said with its number
// in the whole training.
TEST_F(ExamplesResume, NumbersCountFromTheStartOfTheTraining) {
  const auto report = [&](const std::string& name) {
    return nlohmann::json::parse(data::read_text(dir / name));
  };
  for (const auto& [train, rows] :
       {std::pair(gpt("--accumulate 2"), "steps"), {cnn("", 4), "epochs"}}) {
    const std::string name = std::string("parts_") + rows;
    expect_runs(train + " --json " + dir.text("whole"));
    expect_runs(train + " --run " + dir.text(name) + " --stop-after 31");
    const std::string go_on = train.substr(0, train.find(' ')) + " --resume " + dir.text(name);
    expect_runs(go_on + " --json " + dir.text("parts"));
    EXPECT_GE(report("whole")[rows].size(), 3U);
    EXPECT_EQ(report("whole")[rows], report("parts")[rows]);
    expect_runs(go_on + " --json " + dir.text("again"));  // nothing is left to train
    EXPECT_EQ(report("whole")[rows], report("again")[rows]);
    for (const char* figure : {"loss", "val_loss", "accuracy"})
      EXPECT_EQ(report("whole")["final"][figure], report("again")["final"][figure]) << figure;
  }
  expect_runs(cnn("--run " + dir.text("nan")) + " --stop-after 9");
  const Outcome outcome = run("train_cnn --lr 1e30 --resume " + dir.text("nan"));
  EXPECT_EQ(outcome.code, 1);
  const size_t at = outcome.output.find(" in batch ");
  ASSERT_NE(at, std::string::npos) << outcome.output;
  const int batch = std::stoi(outcome.output.substr(at + 10));
  EXPECT_GE(batch, 11) << outcome.output;  // the tenth made the update that was too large
  EXPECT_LE(batch, 12) << outcome.output;
}

// Gradients overflow at this scale: updates that are skipped count as such in the next process too.
TEST_F(ExamplesResume, AfterUpdatesThatWereSkipped) {
  expect_equal(gpt("--precision f16 --loss-scale 340000"));
  const formats::Safetensors state(train::list_saves(dir / "parts1" / "saves")[0].file);
  EXPECT_LT(state.tensor("optimizer.matrices.steps").item(), state.tensor("run.batches").item());
}

// Killed at any time, again and again, each time begun with the same command.
TEST_F(ExamplesResume, AfterBeingKilledAtAnyTime) {
  const std::string train = gpt("--save-every 1 --keep 2 ", 400);
  expect_runs(train + "--run " + dir.text("whole"));
  int kills = 0;
  for (Outcome outcome{-1, ""}; outcome.code != 0; ++kills) {
    ASSERT_LT(kills, 60) << outcome.output;
    const int ms = 150 + kills * 67 % 400 + kills * 10;
    outcome = run(train + "--resume --run " + dir.text("killed"),
                  "timeout -s KILL " + std::to_string(ms / 1000.) + " ");
  }
  std::printf("killed %d times\n", kills - 1);
  EXPECT_GT(kills, 2);
  EXPECT_EQ(newest("whole").first, 400);
  EXPECT_TRUE(newest("whole") == newest("killed"));
  EXPECT_EQ(log("whole"), log("killed"));
}

TEST_F(ExamplesResume, AfterCtrlC) {
  const std::string train = cnn("--log-every 7", 10);  // 120 batches
  const auto begun = [&](const std::string& name) {
    Running running(PLIMSOLL_BIN_DIR "/" + train + (name.empty() ? "" : " --run " + dir.text(name)),
                    dir / "output");
    for (int i = 0; i < 6000; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      const fs::path sign = name.empty() ? dir / "output" : dir / name / "log.csv";
      std::error_code none;
      if (fs::exists(sign, none) &&
          data::read_text(sign).find(name.empty() ? "batch " : "\n7,") != std::string::npos)
        break;
    }
    return running;
  };
  expect_runs(train + " --run " + dir.text("whole"));
  for (const auto& [name, number] : {std::pair("int", SIGINT), std::pair("term", SIGTERM)}) {
    const Running running = begun(name);
    running.signal(number);
    EXPECT_EQ(running.wait(), 130);
    const std::string output = data::read_text(dir / "output");
    EXPECT_NE(output.find(" batches; resume goes on from " + dir.text(name) + ".\n"),
              std::string::npos)
        << output;
    EXPECT_GE(newest(name).first, 7);
    EXPECT_LT(newest(name).first, 120);
    expect_runs(std::string("train_cnn --resume ") + dir.text(name));
    EXPECT_TRUE(newest("whole") == newest(name));
    EXPECT_EQ(log("whole"), log(name));
  }
  // Without a run folder nothing is saved, and there is nothing to go on with.
  const Running running = begun("");
  running.signal(SIGINT);
  EXPECT_EQ(running.wait(), 130);
  const std::string output = data::read_text(dir / "output");
  EXPECT_NE(output.find(" batches; nothing is kept, as there is no folder for the run.\n"),
            std::string::npos)
      << output;
}

}  // namespace
}  // namespace plimsoll::examples
