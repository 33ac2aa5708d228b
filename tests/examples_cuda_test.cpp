// The example programs on simulated CUDA (tests/simulated_cuda) against the CPU.
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>

#include "data/file.h"
#include "memory/bytes.h"
#include "tests/data_testing.h"
#include "tests/examples_small_data.h"
#include "tests/examples_testing.h"

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

// The next batch, copied while the step runs, changes no bit; it is planned, to the byte, and where
// a budget has no room for it there is none.
TEST(ExamplesCuda, TheNextBatchIsInThePlanAndTheBudget) {
  const data::TemporaryFolder dir;
  std::ofstream(dir / "text") << data::read_text(PLIMSOLL_SOURCE_DIR "/README.md").substr(0, 6000);
  write_small_images(dir, 4, 4);  // two batches of each
  const std::string gpt =
      "simulated_train_transformer --layers 2 --width 16 --heads 2 --context 16 --batch 3 "
      "--steps 3 --eval-every 2 --data text:" +
      dir.text("text");
  const std::string net =
      "simulated_train_cnn --model lenet --batch 2 --epochs 1 --data mnist:" + dir.path().string();
  for (const auto& [program, next] :
       {std::pair(gpt, 2 * 3 * 16 * 8), std::pair(net, 2 * (28 * 28 + 4 * 4 + 8))}) {
    SCOPED_TRACE(program);
    const std::string train =
        program + " --device cuda --threads 1 --cost model --plan-seconds 0.1";
    const int64_t bytes = block_bytes(next);
    const auto ahead = figures(train), before = figures(train + " --no-prefetch");
    ASSERT_FALSE(ahead.is_null() || before.is_null());
    const Outcome refused = run(train + " --plan-only --budget 1kB");
    std::smatch found;
    ASSERT_TRUE(std::regex_search(
        refused.output, found,
        std::regex("the smallest plan found takes ([0-9]+), and ([0-9]+) with the next batch")))
        << refused.output;
    const std::string least = found[1], room = found[2];
    EXPECT_EQ(std::stoll(room), std::stoll(least) + bytes);
    const auto tight = figures(train + " --budget " + least),
               roomy = figures(train + " --budget " + room);
    ASSERT_FALSE(tight.is_null() || roomy.is_null());
    const char* rows = ahead.contains("steps") ? "steps" : "epochs";
    for (const auto& other : {before, tight, roomy}) EXPECT_EQ(other[rows], ahead[rows]);
    for (const auto& one : {ahead, before, tight, roomy})
      EXPECT_EQ(one["final"]["peak_bytes"], one["final"]["planned_bytes"]);
    const auto planned = [](const auto& one) -> int64_t { return one["final"]["planned_bytes"]; };
    EXPECT_EQ(planned(ahead), planned(before) + bytes);
    const auto evaluation = [](const auto& one, const char* what) -> int64_t {
      return one["final"][cat("evaluation_", what, "_bytes")];
    };
    EXPECT_EQ(evaluation(ahead, "planned"), evaluation(before, "planned") + bytes);
    EXPECT_EQ(evaluation(ahead, "peak"), evaluation(before, "peak") + bytes);
    for (const auto& one : {ahead, before, tight, roomy})
      EXPECT_EQ(evaluation(one, "peak"), evaluation(one, "planned"));
    EXPECT_EQ(planned(roomy), planned(tight) + bytes);
    EXPECT_LE(planned(roomy), std::stoll(room));
    const auto plan = [&](const std::string& budget) {
      return run(train + " --plan-only --budget " + budget).output;
    };
    const std::string shown =
        cat("  ", bytes_text(bytes), " of the inputs are the next batch, copied while the step ");
    EXPECT_NE(plan(room).find(shown), std::string::npos) << plan(room);
    EXPECT_EQ(plan(least).find(shown), std::string::npos);
    EXPECT_NE(plan(least).find("  the next batch is not copied while the step runs: --budget " +
                               room + " has room for it\n"),
              std::string::npos)
        << plan(least);
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
