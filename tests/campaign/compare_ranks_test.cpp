// compare_memory --ranks: what one process plans for each of so many ranks is what fit and the
// trainer plan, and what every rank measures.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "examples/measure/rank_comparison.h"
#include "tests/campaign/launch.h"
#include "tests/data/testing.h"
#include "tests/examples/testing.h"

namespace plimsoll::examples {
namespace {

using data::TemporaryFolder;
using Json = nlohmann::json;

Json rows_of(const std::string& command, const TemporaryFolder& dir) {
  const Outcome outcome = run_shell(command + " --json " + dir.text("rows"));
  EXPECT_EQ(outcome.code, 0) << command << "\n" << outcome.output;
  return outcome.code == 0 ? Json::parse(data::read_text(dir.text("rows"))) : Json::array();
}

// Measured on all ranks, where the launcher started so many; the digests of their losses.
std::vector<std::string> expect_measured(const Json& rows, int64_t launched) {
  std::vector<std::string> digests;
  for (const Json& row : rows) {
    SCOPED_TRACE(row.dump());
    if (row["ranks"] != launched) {
      EXPECT_TRUE(row["measured_bytes"].is_null());
      continue;
    }
    EXPECT_EQ(row["measured_bytes"], Json(std::vector(static_cast<size_t>(launched),
                                                      row["planned_bytes"].get<int64_t>())));
    EXPECT_EQ(row["same_bits"], true);
    digests.push_back(row["loss_digest"]);
  }
  return digests;
}

// Models with dropout, with batch norm and with clipping, with and without loss scaling.
TEST(RankPrograms, CompareMemoryMeasuresWhatIsPlanned) {
  SKIP_WITHOUT_MPI();
  const TemporaryFolder dir;
  const std::string compare = program(
      "compare_memory --models resnet8,textcls --batches 3 --precisions f32,f16 --ranks 1,2,4 "
      "--shard 0,1,2,3 --steps 2 --threads 1");
  const std::vector<std::string> one = expect_measured(rows_of(compare, dir), 1);
  ASSERT_EQ(one.size(), 4U);
  for (const int64_t n : {2, 4}) {
    const Json rows = rows_of(launch(cat("-n ", n, " ", compare)), dir);
    ASSERT_EQ(rows.size(), 4U * 9);
    const std::vector<std::string> several = expect_measured(rows, n);
    ASSERT_EQ(several.size(), 16U);  // four stages each
    for (size_t i = 0; i < several.size(); ++i) EXPECT_EQ(several[i], one[i / 4]);
  }
}

// docs/distributed.md shows what four ranks measure; where there is no MPI, it is planned alike.
TEST(RankPrograms, TheTableOfThePageIsWhatIsPlannedAndMeasured) {
  std::istringstream page(data::read_text(PLIMSOLL_SOURCE_DIR "/docs/distributed.md"));
  const std::string prompt = "$ mpirun -n 4 --bind-to none build/bin/";
  std::string command, table;
  for (std::string line; std::getline(page, line) && !(line == "```" && !table.empty());) {
    if (line.starts_with(prompt + "compare_memory"))
      command = line.substr(prompt.size());
    else if (!command.empty() && line.starts_with("    --"))
      command += line;
    else if (!command.empty())
      table += line + "\n";
  }
  std::ranges::replace(command, '\\', ' ');
  ASSERT_FALSE(table.empty()) << command;
  if (open_mpi_backend) {
    EXPECT_EQ(run_shell(launch("-n 4 " + program(command))).output, table);
    return;
  }
  const std::string planned = run(command).output;
  const size_t width = table.find("measured") - table.find("model");  // up to what is planned
  std::istringstream rows(table);
  for (std::string row; std::getline(rows, row);)
    EXPECT_NE(planned.find(row.substr(0, width)), std::string::npos) << row << "\n" << planned;
}

TEST(RankPrograms, CompareMemoryRefusesRowsThatNobodyMeasures) {
  SKIP_WITHOUT_MPI();
  const auto says = [](const std::string& ranks_and_programs) {
    const Outcome outcome = run_shell(launch(ranks_and_programs));
    EXPECT_NE(outcome.code, 0);
    return outcome.output;
  };
  const std::string compare = program("compare_memory --models lenet --precisions f32 ");
  EXPECT_NE(says("-n 2 " + compare)
                .find("rank 0 of 2: --ranks: the launcher started 2 processes, "
                      "and no ranks are asked for. Give --ranks 2, or start "
                      "one."),
            std::string::npos);
  EXPECT_NE(says("-n 2 " + compare + "--ranks 1,4")
                .find("rank 0 of 2: --ranks: the launcher started 2 processes, and no row is of so "
                      "many. Add 2 to --ranks."),
            std::string::npos);
  const std::string two = compare + "--ranks 2 --shard ";
  EXPECT_NE(says("-n 1 " + two + "0 : -n 1 " + two + "0,1")
                .find("rank 0 of 2: train: the ranks differ in option shard: rank 0 has [0], rank "
                      "1 has [0,1]. Start all of them with the same."),
            std::string::npos);
}

// ---- without MPI

// As fit has it, which counts the results of a step besides.
TEST(PlannedRankPrograms, CompareMemorySaysWhatFitSays) {
  for (const char* name : {"resnet8", "gpt"})
    for (const int64_t ranks : {2, 64})
      for (const int64_t shard : {0, 3}) {
        SCOPED_TRACE(cat(name, ", ", ranks, " ranks in stage ", shard));
        RankCase c{.model = shared_model(name, 64), .precision = Precision::bf16, .batch = 4};
        c.model.ranks = ranks;
        c.model.shard = shard;
        const RankRow row = compare_ranks(c, /*steps=*/1, /*seed=*/1);
        const ModelStep step(c.model, c.precision);
        const Fit fit =
            FitSearch(step, {.most = 4}).largest_batch(int64_t{1} << 40, Recomputing::none);
        EXPECT_EQ(fit.batch, 4);
        EXPECT_EQ(row.at_peak, fit.at_peak);
        EXPECT_GT(fit.bytes, row.planned_bytes);
        EXPECT_LE(fit.bytes, row.planned_bytes + 512);
        EXPECT_TRUE(row.measured_bytes.empty());
      }
}

TEST(PlannedRankPrograms, CompareMemorySaysWhatTheTrainerPlans) {
  const TemporaryFolder dir;
  const std::pair<const char*, const char*> models[] = {{"lenet", "train_cnn"},
                                                        {"textcls", "train_transformer"}};
  for (const auto& [model, trains] : models) {
    const Json rows = rows_of(program(cat("compare_memory --batches 8 --precisions f32 --ranks 4 "
                                          "--shard 0,1,2,3 --threads 1 --models ",
                                          model)),
                              dir);
    ASSERT_EQ(rows.size(), 4U);
    for (const Json& row : rows) {
      const Json planned = rows_of(
          program(cat(trains, " --model ", model, " --batch 8 --ranks 4 --accumulate 4 --shard ",
                      row["shard"].get<int>(), " --threads 1 --plan-only")),
          dir);
      EXPECT_EQ(row["planned_bytes"], planned["planned_bytes"]) << row;
    }
  }
}

TEST(PlannedRankPrograms, CompareMemoryRefusesInASentence) {
  const std::pair<const char*, const char*> refusals[] = {
      {"--shard 1",
       "--shard: things are shared out among ranks, and there are none. Give --ranks too."},
      {"--ranks 2 --shard 4", "--shard: not a whole number from 0 to 3: 4"},
      {"--ranks 0", "--ranks: not a whole number from 1 to 1000000: 0"},
      {"--ranks two", "--ranks: not a whole number from 1 to 1000000: two"},
      {"--ranks 2,3",
       "--ranks: 2 ranks do not share windows of 3 batches evenly. Use numbers that divide the "
       "largest."},
      {"--ranks 2 --html a.html",
       "--html: the page draws time against memory, and rows of ranks have no time. Use --json."},
      {"--ranks 2 --budgets 50",
       "--budgets: rows of ranks have none. Leave it out; fit --ranks plans within --vram."},
      {"--ranks 2 --device cuda", "--device: ranks are compared on the CPU: cuda. Leave it out."},
  };
  for (const auto& [arguments, sentence] : refusals) {
    const Outcome outcome = run(cat("compare_memory ", arguments));
    EXPECT_EQ(outcome.code, 2) << arguments << "\n" << outcome.output;
    EXPECT_NE(outcome.output.find(sentence), std::string::npos) << outcome.output;
  }
}

}  // namespace
}  // namespace plimsoll::examples
