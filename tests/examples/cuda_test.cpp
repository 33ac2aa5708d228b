// The example programs on simulated CUDA (tests/simulated_cuda) against the CPU.
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/tensor/bytes.h"
#include "data/file.h"
#include "tests/data/testing.h"
#include "tests/examples/small_data.h"
#include "tests/examples/testing.h"

namespace plimsoll::examples {
namespace {

nlohmann::json figures(const std::string& command) {
  const data::TemporaryFolder dir;
  const std::string file = dir.text("run.json");
  const Outcome outcome = run(command + " --json " + file);
  EXPECT_EQ(outcome.code, 0) << command << "\n" << outcome.output;
  return outcome.code == 0 ? nlohmann::json::parse(data::read_text(file)) : nlohmann::json();
}

TEST(ExamplesCuda, ATransformerTrainsAsOnTheCpu) {
  const data::TemporaryFolder dir;
  std::ofstream(dir / "text") << data::read_text(PLIMSOLL_SOURCE_DIR "/README.md").substr(0, 6000);
  const std::string train =
      "train_transformer --layers 1 --width 16 --heads 2 --context 16 --batch 3 --steps 6 "
      "--eval-every 6 --dropout 0.1 --data text:" +
      dir.text("text");
  for (const std::string options :
       {"", " --precision bf16", " --precision f16 --accumulate 2", " --mode eager --checkpoint"}) {
    SCOPED_TRACE(options);
    const auto cpu = figures(train + options);
    const auto cuda = figures("simulated_" + train + " --device cuda" + options);
    ASSERT_FALSE(cuda.is_null());
    const double tolerance = options.find("16") == std::string::npos ? 1e-4 : 2e-2;
    EXPECT_NEAR(cuda["final"]["loss"], cpu["final"]["loss"], tolerance);
    EXPECT_NEAR(cuda["final"]["val_loss"], cpu["final"]["val_loss"], tolerance);
    if (cpu["mode"] == "captured") {
      EXPECT_EQ(cuda["final"]["peak_bytes"], cuda["final"]["planned_bytes"]);
    }
  }
}

TEST(ExamplesCuda, ATextIsWrittenAsOnTheCpu) {
  const data::TemporaryFolder dir;
  std::ofstream(dir / "text") << small_text();
  const Outcome trained =
      run("train_transformer --layers 1 --width 16 --heads 2 --context 12 --batch 4 --steps 200 "
          "--eval-every 200 --lr 1e-2 --run " +
          dir.text("run") + " --data text:" + dir.text("text"));
  ASSERT_EQ(trained.code, 0) << trained.output;
  const std::string write =
      "generate --greedy --prompt 'line 4' --tokens 20 --run " + dir.text("run");
  for (const std::string options : {"", " --budget 100KiB", " --precision bf16"}) {
    const auto cpu = figures(write + options);
    const auto cuda = figures("simulated_" + write + " --device cuda" + options);
    ASSERT_FALSE(cuda.is_null());
    EXPECT_EQ(cuda["tokens"], cpu["tokens"]) << options;
    EXPECT_EQ(cuda["peak_bytes"], cuda["planned_bytes"]) << options;
  }
}

// Batches by the loader, its workers among them, and losses that are looked at late.
TEST(ExamplesCuda, ACnnTrainsAsOnTheCpu) {
  const data::TemporaryFolder dir;
  const auto losses = [&](const std::string& program, const std::string& run_folder) {
    const Outcome outcome = run(program +
                                " --model sepcnn --batch 2 --epochs 1 --stop-after 4 --log-every 1 "
                                "--augment crop,flip,cutout=8 --run " +
                                dir.text(run_folder));
    EXPECT_EQ(outcome.code, 0) << outcome.output;
    std::vector<double> all;
    std::ifstream lines(dir.text(run_folder) + "/metrics.jsonl");
    for (std::string line; std::getline(lines, line);)
      all.push_back(nlohmann::json::parse(line)["loss"]);
    return all;
  };
  const auto cpu = losses("train_cnn", "cpu"),
             cuda = losses("simulated_train_cnn --device cuda", "cuda");
  ASSERT_EQ(cuda.size(), 4U);
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(cuda[i], cpu.at(i), 1e-4) << i;
}

// Under the smallest budget, too.
TEST(ExamplesCuda, PlansAreMeasuredToTheByte) {
  const data::TemporaryFolder dir;
  std::ofstream(dir / "text") << data::read_text(PLIMSOLL_SOURCE_DIR "/README.md").substr(0, 6000);
  write_small_images(dir, 4, 4);  // two batches of each
  const std::string gpt =
      "simulated_train_transformer --layers 2 --width 16 --heads 2 --context 16 --batch 3 "
      "--steps 3 --eval-every 2 --data text:" +
      dir.text("text");
  const std::string net =
      "simulated_train_cnn --model lenet --batch 2 --epochs 1 --data mnist:" + dir.path().string();
  for (const std::string& program : {gpt, net}) {
    SCOPED_TRACE(program);
    const std::string train =
        program + " --device cuda --threads 1 --cost model --plan-seconds 0.1";
    const auto free = figures(train);
    ASSERT_FALSE(free.is_null());
    const Outcome refused = run(train + " --plan-only --budget 1kB");
    const int64_t least = number_after(refused.output, "the smallest plan found takes ");
    ASSERT_GT(least, 0) << refused.output;
    const auto tight = figures(train + " --budget " + std::to_string(least));
    ASSERT_FALSE(tight.is_null());
    const char* rows = free.contains("steps") ? "steps" : "epochs";
    EXPECT_EQ(tight[rows], free[rows]);
    for (const auto& one : {free, tight}) {
      EXPECT_EQ(one["final"]["peak_bytes"], one["final"]["planned_bytes"]);
      EXPECT_EQ(one["final"]["evaluation_peak_bytes"], one["final"]["evaluation_planned_bytes"]);
    }
  }
}

TEST(ExamplesCuda, PlansHoldAndBitsStay) {
  const Outcome outcome =
      run("simulated_compare_memory --device cuda --models lenet --batches 1 --steps 1 "
          "--precisions f32 --budgets none");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
}

}  // namespace
}  // namespace plimsoll::examples
