// The example programs as a person runs them: figures, equal bits, exit codes, sentences.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>

#include "tests/data/testing.h"
#include "tests/examples/testing.h"

namespace plimsoll::examples {
namespace {

namespace fs = std::filesystem;
using data::TemporaryFolder;
using nlohmann::json;

json read(const fs::path& path) { return json::parse(std::ifstream(path)); }

// A training learns in the bytes that were planned, where blocks are made again. ExamplesBits and
// ExamplesResume compare modes.
TEST(ExamplePrograms, LearnInThePlannedBytes) {
  const std::string gpt = "train_transformer --layers 2 --width 32 --context 32 --dropout 0.1 ";
  const std::string forty = gpt + "--steps 40 --eval-every 40 --precision ";
  struct Row {
    std::string command;
    const char* figure;
    double below;
    int64_t least_skipped = 0, most_skipped = 2;
  };
  const TemporaryFolder dir;
  for (const auto& [command, figure, below, least_skipped, most_skipped] :
       {// The mean of one short epoch; chance is log(10) = 2.3.
        Row{"train_cnn --model resnet8 --epochs 1 --batch 500", "loss", 2.2},
        // Small batches make one update together; the last window of the epoch is shorter.
        Row{"train_cnn --epochs 1 --batch 250 --accumulate 3", "loss", 2.2},
        // Chance is about log(100) = 4.6.
        Row{gpt + "--steps 60 --eval-every 60", "val_loss", 4.0},
        // The text is these sources, and where f16 overflows changes with them.
        Row{forty + "bf16", "val_loss", 4.3}, Row{forty + "f16", "val_loss", 4.3},
        Row{forty + "f16 --loss-scale 524288", "val_loss", HUGE_VAL, 1, 40}}) {
    SCOPED_TRACE(command);
    const Outcome outcome =
        run(command + " --mode captured --checkpoint --json " + dir.text("run.json"));
    ASSERT_EQ(outcome.code, 0) << outcome.output;
    const json last = read(dir / "run.json")["final"];
    EXPECT_EQ(last["peak_bytes"], last["planned_bytes"]);
    EXPECT_LT(last[figure], below);
    EXPECT_GE(last["skipped_steps"], least_skipped);
    EXPECT_LE(last["skipped_steps"], most_skipped);
  }
}

TEST(CompareMemory, PlannedEqualsMeasuredAndBitsAreEqual) {
  const TemporaryFolder dir;
  const fs::path file = dir / "rows.json";
  const Outcome outcome =
      run("compare_memory --models lenet,sepcnn,resnet8,gpt,textcls "
          "--batches 8 --budgets smallest --steps 3 --threads 2 --json " +
          file.string());
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  const json rows = read(file);
  ASSERT_EQ(rows.size(), 75U);
  for (const json& row : rows) {
    EXPECT_TRUE(row["same_bits"]) << row;
    if (row["mode"] == "captured") {
      EXPECT_EQ(row["planned_bytes"], row["measured_bytes"]) << row;
      EXPECT_GE(row["planned_bytes"], row["lower_bound_bytes"]) << row;
    }
    if (!row["budget_bytes"].is_null()) {
      // With room for one loss more, the last one. The smallest is named by the model's costs, and
      // a search by measured ones may take a little less.
      const auto budget = row["budget_bytes"].get<int64_t>(),
                 taken = row["measured_bytes"].get<int64_t>() + 64;
      EXPECT_LE(taken, budget) << row;
      EXPECT_GT(taken, budget * 9 / 10) << row;
    }
    // Of two threads: each has a stack and packed operands, on large machines more than 16 MiB.
#if defined(__linux__) && !defined(__SANITIZE_ADDRESS__)  // whose heap is larger
    EXPECT_GT(row["process_bytes"], row["measured_bytes"]) << row;
    if (row["mode"] == "captured") {
      EXPECT_TRUE(row["process_within"]) << row;
    }
#endif
    for (const char* key : {"model", "batch", "precision", "mode", "saving", "checkpoint",
                            "budget_bytes", "planned_bytes", "measured_bytes", "lower_bound_bytes",
                            "process_bytes", "process_within", "ms_per_step", "time_ratio", "loss"})
      EXPECT_TRUE(row.contains(key)) << key;
  }
}

// The default table: batches x {eager, captured, budgets}.
TEST(CompareMemory, MakesARowForEachCombination) {
  const TemporaryFolder dir;
  const fs::path file = dir / "rows.json";
  const Outcome outcome =
      run("compare_memory --models resnet8 --batches 4,8 --precisions f32 --steps 2 --json " +
          file.string());
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  std::set<std::string> kinds;
  for (const json& row : read(file)) {
    kinds.insert(row["batch"].dump() + row["mode"].dump() + row["saving"].dump());
    if (row["refused"]) {
      EXPECT_EQ(row["measured_bytes"], 0) << row;
      for (const char* key : {"process_bytes", "same_bits", "loss", "ms_per_step"})
        EXPECT_TRUE(row[key].is_null()) << row;
    } else if (!row["budget_bytes"].is_null()) {
      EXPECT_LE(row["measured_bytes"], row["budget_bytes"]) << row;
    }
  }
  EXPECT_EQ(kinds.size(), 2U * (4U + 5U));
}

TEST(FirstStep, PrintsTheTableOfTheReadme) {
  const std::string output = run("first_step").output;
  const std::string table = output.substr(0, output.find("epoch 0"));
  EXPECT_TRUE(table.starts_with("plan: ")) << output;
  std::ostringstream readme;
  readme << std::ifstream(PLIMSOLL_SOURCE_DIR "/README.md").rdbuf();
  EXPECT_NE(readme.str().find(table), std::string::npos) << "README.md should show\n" << table;
}

// The program of docs/training.md: it stays within its budget, and what is over is not begun anew.
TEST(OwnModel, TrainsWithinItsBudgetAndGoesOn) {
  const TemporaryFolder dir;
  const std::string there = "cd " + dir.path().string() + " && ";
  const Outcome first = run("own_model", there);
  ASSERT_EQ(first.code, 0) << first.output;
  EXPECT_NE(first.output.find("\nepoch 3/3  mean loss "), std::string::npos) << first.output;
  EXPECT_NE(
      first.output.find("\n  budget 10485760 bytes, of which 9278464 for the step; evaluation "),
      std::string::npos)
      << first.output;
  const Outcome again = run("own_model", there);
  ASSERT_EQ(again.code, 0) << again.output;
  EXPECT_NE(again.output.find("resumed after "), std::string::npos) << again.output;
  EXPECT_NE(again.output.find("\ntraining is over: "), std::string::npos) << again.output;
  for (const char* done : {"\nepoch ", "plan: ", "budget "})
    EXPECT_EQ(again.output.find(done), std::string::npos) << again.output;
}

TEST(OwnModel, SavesAndExitsWith130WhereItIsStopped) {
  const TemporaryFolder dir;
  const std::string program = PLIMSOLL_BIN_DIR "/own_model";
  const Outcome stopped =
      run_shell(cat("cd ", dir.path().string(), " && { ", program,
                    " > log 2>&1 & p=$!; until grep -q '^batch ' log; do sleep 0.1; done; "
                    "kill -TERM $p; wait $p; echo code $?; cat log; }"));
  EXPECT_NE(stopped.output.find("code 130\n"), std::string::npos) << stopped.output;
  EXPECT_NE(stopped.output.find("; resume goes on from runs/figures.\n"), std::string::npos)
      << stopped.output;
}

TEST(TrainCnn, StopsAtANonFiniteLossAndNamesTheOpOnRequest) {
  const Outcome plain = run("train_cnn --epochs 1 --lr 1e30");
  EXPECT_EQ(plain.code, 1) << plain.output;
  EXPECT_NE(plain.output.find("train: the loss is not finite: "), std::string::npos)
      << plain.output;
  for (const char* mode : {"eager", "captured"}) {
    const Outcome named =
        run(std::string("train_cnn --epochs 1 --lr 1e30 --find-nan --mode ") + mode);
    EXPECT_EQ(named.code, 1) << named.output;
    EXPECT_NE(named.output.find("holds NaN or infinity"), std::string::npos) << named.output;
    EXPECT_NE(named.output.find("train: in batch "), std::string::npos) << named.output;
  }
}

TEST(Examples, HelpSucceeds) {
  for (const char* program : {"train_cnn", "train_transformer", "compare_memory"}) {
    const Outcome help = run(std::string(program) + " --help"),
                  version = run(std::string(program) + " --version");
    EXPECT_EQ(help.code, 0) << program;
    EXPECT_EQ(version.code, 0) << program;
    EXPECT_TRUE(version.output.starts_with("plimsoll ")) << version.output;
    if (program[0] != 't') continue;
    for (const char* group : {"\nTraining:", "\nMemory:", "\nRun:", "\nData and model:"})
      EXPECT_NE(help.output.find(group), std::string::npos) << help.output;
  }
}

}  // namespace
}  // namespace plimsoll::examples
