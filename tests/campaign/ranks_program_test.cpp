// The training programs on several ranks, started as a person starts them: by mpirun, of whatever
// MPI the build found. Skipped by name where it found none. What needs no MPI is at the end.
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <thread>

#include "tests/campaign/launch.h"
#include "tests/data/testing.h"
#include "tests/examples/small_data.h"
#include "tests/examples/testing.h"
#include "tests/train/saved_text.h"

namespace plimsoll::examples {
namespace {

namespace fs = std::filesystem;
using data::TemporaryFolder;
using Json = nlohmann::json;

// Weights, optimizer, statistics and log of a run, and the figures of each rank.
struct Left {
  std::string state, log;
  Json ranks;
};

Left train(int ranks, const std::string& arguments, const TemporaryFolder& dir) {
  const std::string name = cat("run", data::names_in(dir.path()).size());
  const std::string command = program(cat(arguments, " --ranks ", ranks, " --run ", dir.text(name),
                                          " --json ", dir.text(name), ".json"));
  const Outcome outcome = run_shell(ranks == 1 ? command : launch(cat("-n ", ranks, " ", command)));
  EXPECT_EQ(outcome.code, 0) << command << "\n" << outcome.output;
  return {plimsoll::train::saved_text(dir / name / "saves"),
          data::read_text(dir / name / "log.csv"),
          Json::parse(data::read_text(dir.text(name) + ".json"))["ranks"]};
}

// Of so many ranks, which share out what that stage says.
struct Ways {
  int ranks, stage;
};

void expect_same(const std::string& arguments, std::initializer_list<Ways> ways,
                 const TemporaryFolder& dir) {
  const Left one = train(1, arguments, dir);
  EXPECT_GT(one.state.size(), 10'000U);
  for (const auto& [ranks, stage] : ways) {
    SCOPED_TRACE(cat(ranks, " ranks in stage ", stage, ": ", arguments));
    const Left left = train(ranks, cat(arguments, " --shard ", stage), dir);
    EXPECT_TRUE(left.state == one.state);
    EXPECT_EQ(left.log, one.log);
    ASSERT_EQ(left.ranks.size(), static_cast<size_t>(ranks));
    for (const Json& rank : left.ranks) EXPECT_EQ(rank["peak_bytes"], rank["planned_bytes"]);
  }
}

// Simulated ones, on a machine that has one of them, so each rank is told to take it.
TEST(RankPrograms, TrainOnGpusWithTheBitsOfOneRank) {
  SKIP_WITHOUT_MPI();
  const TemporaryFolder dir;
  write_small_images(dir, 4, 1);  // they are slow
  setenv("PLIMSOLL_CUDA_LIBRARIES", PLIMSOLL_SIMULATED_LIBRARIES, 1);
  expect_same(cat("simulated_train_cnn --device cuda:0 --model lenet --epochs 1 --batch 1 "
                  "--accumulate 4 --data mnist:",
                  dir.path().string()),
              {{2, 0}, {4, 3}}, dir);
  const Outcome outcome = run_shell(
      launch("-n 2 " + program("simulated_train_cnn --device cuda --ranks 2 --accumulate 2")));
  unsetenv("PLIMSOLL_CUDA_LIBRARIES");
  EXPECT_EQ(outcome.code, 2) << outcome.output;
  EXPECT_NE(outcome.output.find("--device cuda:1: cuda: there is no device 1: found 1. Use 0."),
            std::string::npos)
      << outcome.output;
}

TEST(RankPrograms, TrainNetsWithTheBitsOfOneRank) {
  SKIP_WITHOUT_MPI();
  const TemporaryFolder dir;
  write_small_images(dir, 200, 50);
  expect_same(cat("train_cnn --model resnet8 --epochs 2 --batch 10 --accumulate 8 --log-every 3 "
                  "--precision f16 --data mnist:",
                  dir.path().string()),
              {{2, 0}, {4, 1}, {4, 3}}, dir);
}

TEST(RankPrograms, TrainTransformersWithTheBitsOfOneRank) {
  SKIP_WITHOUT_MPI();
  const TemporaryFolder dir;
  const fs::path text = dir.write("text.txt", small_text());
  expect_same(cat("train_transformer --steps 6 --eval-every 3 --layers 2 --width 32 --context 32 "
                  "--dropout 0.1 --accumulate 4 --log-every 1 --data text:",
                  text.string()),
              {{2, 0}, {2, 1}, {2, 3}}, dir);
}

// Sets of files are read as files are: by programs that use a model, and to go on from.
TEST(RankPrograms, LeaveSavesThatOtherProgramsRead) {
  SKIP_WITHOUT_MPI();
  const TemporaryFolder dir;
  const fs::path text = dir.write("text.txt", small_text());
  const std::string arguments =
      cat("train_transformer --steps 4 --eval-every 2 --layers 2 --width 32 --context 32 "
          "--accumulate 4 --data text:",
          text.string());
  train(1, arguments, dir);
  train(2, arguments + " --shard 3", dir);
  const auto two = plimsoll::train::list_saves(dir / "run3" / "saves");
  ASSERT_FALSE(two.empty());
  EXPECT_EQ(two[0].file.filename(), formats::Shards::kIndex);
  const auto writes = [&](const std::string& run) {
    const Outcome outcome =
        run_shell(program(cat("generate --prompt line --tokens 20 --run ", run)));
    EXPECT_EQ(outcome.code, 0) << outcome.output;
    return outcome.output.substr(0, outcome.output.find(" tokens read"));  // then come speeds
  };
  const std::string written = writes(dir.text("run1"));
  EXPECT_EQ(writes(dir.text("run3")), written);
  for (const fs::path& named : {two[0].file, two[0].file.parent_path()}) {
    EXPECT_EQ(writes(named.string()), written);
    const std::string on = dir.text(cat("on from ", named.filename().string()));
    const Outcome outcome = run_shell(program(cat("train_transformer --resume ", named.string(),
                                                  " --ranks 1 --shard 0 --run '", on, "'")));
    EXPECT_EQ(outcome.code, 0) << outcome.output;
    EXPECT_NE(outcome.output.find("training is over"), std::string::npos) << outcome.output;
  }

  write_small_images(dir);
  const std::string pictures =
      cat("train_cnn --model lenet --epochs 1 --batch 10 --accumulate 2 "
          "--data mnist:",
          dir.path().string());
  const auto says = [&](int ranks, const std::string& run) {
    const std::string command =
        program(cat(pictures, " --ranks ", ranks, " --run ", dir.text(run)));
    const Outcome trained =
        run_shell(ranks == 1 ? command : launch(cat("-n ", ranks, " ", command)));
    EXPECT_EQ(trained.code, 0) << trained.output;
    const Outcome predicted = run_shell(
        program(cat("predict --evaluate --json ", dir.text(run), ".json --run ", dir.text(run))));
    EXPECT_EQ(predicted.code, 0) << predicted.output;
    return Json::parse(data::read_text(dir.text(run) + ".json")).at("evaluation").at("loss");
  };
  EXPECT_EQ(says(1, "pictures1"), says(2, "pictures2"));
}

// Under a budget all ranks gather parameters again at the same places.
TEST(RankPrograms, ShareParametersWithinABudget) {
  SKIP_WITHOUT_MPI();
  const TemporaryFolder dir;
  const fs::path text = dir.write("text.txt", small_text());
  const std::string arguments =
      cat("train_transformer --steps 3 --eval-every 3 --layers 3 --width 64 --context 64 --batch 4 "
          "--accumulate 2 --log-every 1 --data text:",
          text.string());
  const Left one = train(1, arguments, dir), free = train(2, arguments + " --shard 3", dir);
  const auto planned = free.ranks[0]["planned_bytes"].get<int64_t>();
  const Left tight = train(2, cat(arguments, " --shard 3 --budget ", planned * 9 / 10), dir);
  for (const Left* left : {&free, &tight}) {
    EXPECT_TRUE(left->state == one.state);
    EXPECT_EQ(left->log, one.log);
  }
  for (const Json& rank : tight.ranks)
    EXPECT_LE(rank["peak_bytes"].get<int64_t>(), planned * 9 / 10);
}

// The first sentence of a rank that ends all of them; what the launcher says besides is its own.
std::string said_by_rank(const Outcome& outcome) {
  std::smatch match;
  const bool found =
      std::regex_search(outcome.output, match, std::regex("rank [0-9]+ of [0-9]+: [^\n\r]*"));
  return found ? match[0].str() : outcome.output;
}

TEST(RankPrograms, RefuseAnotherNumberThanWasLaunched) {
  SKIP_WITHOUT_MPI();
  const Outcome fewer = run_shell(launch("-n 2 " + program("train_cnn --ranks 4 --accumulate 4")));
  EXPECT_NE(fewer.code, 0);
  EXPECT_EQ(said_by_rank(fewer),
            "rank 0 of 2: --ranks: 4 are asked for, and the launcher started 2. Start this program "
            "with mpirun -n 4.");
  const Outcome alone = run_shell("OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 " +
                                  program("train_cnn --ranks 2 --accumulate 2"));
  EXPECT_NE(alone.code, 0);
  EXPECT_EQ(
      said_by_rank(alone),
      "rank 0 of 1: --ranks: 2 are asked for, and the launcher started 1 (or each process by "
      "itself: mpirun of another MPI, or srun without --mpi=pmix or pmi2). Start this program "
      "with mpirun -n 2.");
  const Outcome ones = run_shell(launch("-n 2 " + program("train_cnn --ranks 1")));
  EXPECT_NE(ones.code, 0);
  EXPECT_EQ(said_by_rank(ones),
            "rank 0 of 2: --ranks: 1 are asked for, and the launcher started 2. Start this program "
            "with mpirun -n 1.");
}

TEST(RankPrograms, RefuseToBeLaunchedWithoutRanks) {
  SKIP_WITHOUT_MPI();
  const Outcome outcome = run_shell(launch("-n 2 " + program("train_cnn")));
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.output.find("--ranks: the launcher started 2 processes, and no ranks are asked "
                                "for. Give --ranks 2, or start one."),
            std::string::npos)
      << outcome.output;
}

TEST(RankPrograms, RefuseToShareUnevenlyAndToDiffer) {
  SKIP_WITHOUT_MPI();
  const TemporaryFolder dir;
  write_small_images(dir);
  const std::string cnn = program("train_cnn --batch 10 --data mnist:" + dir.path().string());
  EXPECT_EQ(said_by_rank(run_shell(launch("-n 2 " + cnn + " --ranks 2"))),
            "rank 0 of 2: accumulation: 2 ranks do not share a window of 1 batches evenly. "
            "Accumulate a multiple of 2.");
  const std::string two = cnn + " --ranks 2 --accumulate 2 --lr ";
  EXPECT_NE(said_by_rank(run_shell(launch("-n 1 " + two + "1e-3 : -n 1 " + two + "2e-3")))
                .find("rank 0 of 2: train: the ranks differ in learning rates"),
            std::string::npos);
}

// Two ranks that train for long, of which one is hit; returns what was printed.
class Hit {
 public:
  explicit Hit(const char* signal) {
    write_small_images(dir_, 4000, 50);  // long epochs: after a save others are waited for longer
    // Each leaves its number: of Open MPI, or of MPICH.
    const std::string wrapped = cat(
        "sh -c 'echo $$ > ", dir_.text("pid"), "$OMPI_COMM_WORLD_RANK$PMI_RANK; exec ",
        program("train_cnn --epochs 1000 --batch 10 --accumulate 2 --ranks 2 --comm-timeout 2 "),
        "--log-every 1 --run ", dir_.text("run"), " --data mnist:", dir_.path().string(), "'");
    std::thread job([&] { outcome_ = run_shell(launch("-n 2 " + wrapped)); });
    wait_for([&] { return fs::exists(dir_ / "run/log.csv") && lines() > 20; }, 60);
    run_shell(cat("kill -", signal, " $(cat ", dir_.text("pid1"), ")"));
    const auto start = std::chrono::steady_clock::now();
    job.join();
    seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  double seconds() const { return seconds_; }
  const Outcome& outcome() const { return outcome_; }
  // Whether one is still there after some seconds.
  bool orphans() const {
    wait_for([&] { return !lives(); }, 3);
    return lives();
  }

 private:
  // Who is dead, and has not been asked for its code, does not.
  bool lives() const {
    for (const char* rank : {"pid0", "pid1"}) {
      std::string pid, line;
      std::ifstream(dir_.text(rank)) >> pid;
      std::getline(std::ifstream("/proc/" + pid + "/stat"), line);
      if (!line.empty() && line.find(") Z ") == std::string::npos) return true;
    }
    return false;
  }
  template <class F>
  static void wait_for(const F& f, int seconds) {
    for (int i = 0; i < 20 * seconds && !f(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  int64_t lines() const {
    const std::string log = data::read_text(dir_ / "run/log.csv");
    return std::ranges::count(log, '\n');
  }

  TemporaryFolder dir_;
  Outcome outcome_{};
  double seconds_ = 0;
};

// One that is asked to stop takes the others along, between two windows, and says it once.
TEST(RankPrograms, StopTogetherWhereOneIsAsked) {
  SKIP_WITHOUT_MPI();
  const Hit hit("USR1");
  EXPECT_EQ(hit.outcome().code, 130) << hit.outcome().output;
  EXPECT_FALSE(hit.orphans());
  const std::string& said = hit.outcome().output;
  const size_t at = said.find("resume goes on from ");
  EXPECT_NE(at, std::string::npos) << said;
  EXPECT_EQ(said.find("stopped after", at), std::string::npos) << said;
}

TEST(RankPrograms, EndWhereOneIsKilled) {
  SKIP_WITHOUT_MPI();
  const Hit hit("KILL");
  EXPECT_NE(hit.outcome().code, 0) << hit.outcome().output;
  EXPECT_LT(hit.seconds(), 2 + 5) << hit.outcome().output;
  EXPECT_FALSE(hit.orphans());
}

TEST(RankPrograms, EndWhereOneIsStopped) {
  SKIP_WITHOUT_MPI();
  const Hit hit("STOP");
  EXPECT_NE(hit.outcome().code, 0) << hit.outcome().output;
  EXPECT_LT(hit.seconds(), 2 + 5) << hit.outcome().output;
  EXPECT_FALSE(hit.orphans());
  const std::string said = said_by_rank(hit.outcome());
  EXPECT_NE(said.find("which is not done after 2 s: a rank was stopped, or the network was cut or "
                      "is too slow. All ranks end; resume from the newest save."),
            std::string::npos)
      << hit.outcome().output;
  EXPECT_NE(said.find(", in the batches "), std::string::npos) << said;
}

// ---- without MPI

TEST(PlannedRankPrograms, PlanAnyNumberOfRanks) {
  const Outcome outcome =
      run("train_cnn --model resnet8 --plan-only --ranks 64 --accumulate 64 --data synthetic");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_NE(outcome.output.find("rank 0 of 64"), std::string::npos) << outcome.output;
  EXPECT_NE(outcome.output.find("gradients"), std::string::npos) << outcome.output;
}

TEST(PlannedRankPrograms, FitSaysWhatEachOfThemTakes) {
  const TemporaryFolder dir;
  const Outcome outcome = run(
      "fit --model lenet --vram 256MiB --precisions f32 --ranks 1,2,8 --plan-seconds 0.01 --json " +
      dir.text("rows"));
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_NE(outcome.output.find("each of 8 ranks, which share updates of 8 batches"),
            std::string::npos)
      << outcome.output;
  std::map<int64_t, int64_t> batch, gradients;
  const Json report = Json::parse(data::read_text(dir.text("rows")));
  for (const Json& row : report["rows"]) {
    if (row["recompute"] != "none") continue;
    batch[row["ranks"]] = row["batch"];
    gradients[row["ranks"]] = row["at_peak"]["gradients"];
  }
  ASSERT_EQ(batch.size(), 3U);
  EXPECT_GT(gradients[1], gradients[2]);  // fewer sets of them
  EXPECT_GT(gradients[2], gradients[8]);
  EXPECT_LT(batch[1], batch[8]);  // though there is something to exchange
}

// Batch norm, whose statistics ranks gather.
TEST(PlannedRankPrograms, FitKnowsNetsWithBatchNorm) {
  const Outcome outcome =
      run("fit --model resnet8 --vram 16MiB --precisions f32 --ranks 2 --shard 0,3 --plan-seconds "
          "0.01");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
}

// Each stage takes less than the one before; and what they hold is said by its class.
TEST(PlannedRankPrograms, FitSaysWhatTheyShareOut) {
  const TemporaryFolder dir;
  const Outcome outcome =
      run("fit --model textcls --vram 256MiB --precisions f32 --ranks 64 --shard 0,1,2,3 "
          "--plan-seconds 0.01 --json " +
          dir.text("rows"));
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  std::vector<int64_t> parameters, state;
  const Json report = Json::parse(data::read_text(dir.text("rows")));
  for (const Json& row : report["rows"]) {
    if (row["recompute"] != "none") continue;
    parameters.push_back(row["at_peak"]["parameters"]);
    state.push_back(row["at_peak"]["optimizer state"]);
  }
  ASSERT_EQ(parameters.size(), 4U);
  EXPECT_LT(state[1], state[0] / 32);
  EXPECT_EQ(state[2], state[1]);
  EXPECT_EQ(state[3], state[1]);
  EXPECT_EQ(parameters[2], parameters[1]);
  EXPECT_LT(parameters[3], parameters[0] / 32);
}

TEST(PlannedRankPrograms, RefuseToShareAmongNobody) {
  const Outcome alone = run("train_cnn --shard 1 --data synthetic");
  EXPECT_EQ(alone.code, 2);
  EXPECT_NE(alone.output.find("--shard: things are shared out among ranks, and there are none: "
                              "stage 1. Give --ranks too."),
            std::string::npos)
      << alone.output;
  EXPECT_EQ(run("train_cnn --shard 4 --ranks 1 --data synthetic").code, 2);
  EXPECT_EQ(run("fit --model lenet --vram 1GiB --shard 3").code, 2);
}

}  // namespace
}  // namespace plimsoll::examples
