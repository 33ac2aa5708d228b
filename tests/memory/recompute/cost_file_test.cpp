// Costs that are kept for the next process: whole, or not at all.
#include "memory/recompute/cost_file.h"

#include <gtest/gtest.h>

#include <fstream>

#include "core/engine/trace.h"
#include "memory/step/passes.h"
#include "ops/ops.h"
#include "tests/examples/testing.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

// With a cache folder of its own.
class CostFile : public ::testing::Test {
 protected:
  CostFile() : folder_(fs::temp_directory_path() / cat("plimsoll_costs_", getpid())) {
    fs::create_directories(folder_);
    if (const char* const before = std::getenv("XDG_CACHE_HOME")) cache_before_ = before;
    setenv("XDG_CACHE_HOME", folder_.c_str(), 1);
  }
  ~CostFile() override {
    if (cache_before_)
      setenv("XDG_CACHE_HOME", cache_before_->c_str(), 1);
    else
      unsetenv("XDG_CACHE_HOME");
    fs::remove_all(folder_);
  }

  std::string bytes() const {
    std::ifstream in(file(), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write(const std::string& bytes) const { std::ofstream(file(), std::ios::binary) << bytes; }
  fs::path file() const { return folder_ / "deep" / "costs"; }

  const fs::path folder_;

 private:
  std::optional<std::string> cache_before_;
};

TEST_F(CostFile, ReadsBackToTheLastBit) {
  EXPECT_TRUE(read_costs(file()).empty());
  const KnownCosts costs{{1, {1.0 / 3, 0.7, 1.9}}, {~uint64_t{0}, {0, 1e-300}}, {77, {2e-9, 2e-9}}};
  write_costs(file(), costs);
  EXPECT_EQ(read_costs(file()), costs);
  EXPECT_EQ(std::distance(fs::directory_iterator(file().parent_path()), {}), 1);  // nothing else
  write_costs({}, costs);  // there is no folder for it
}

TEST_F(CostFile, DamagedOrForeignItIsAsIfItWereNotThere) {
  write_costs(file(), {{1, {0.5, 0.75}}, {2, {0.25, 0.5}}});
  const std::string good = bytes();
  ASSERT_EQ(read_costs(file()).size(), 2U);
  for (size_t at = 0; at < good.size(); ++at) {
    std::string damaged = good;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    write(damaged);
    EXPECT_TRUE(read_costs(file()).empty()) << at;
    write(good.substr(0, at));
    EXPECT_TRUE(read_costs(file()).empty()) << at;
  }
  write(good + good);
  EXPECT_TRUE(read_costs(file()).empty());
  fs::remove(file());
  fs::create_directory(file());
  EXPECT_TRUE(read_costs(file()).empty());
  write_costs(file(), {{1, {0.5, 0.75}}});
  EXPECT_TRUE(fs::is_directory(file()));
  EXPECT_EQ(std::distance(fs::directory_iterator(file().parent_path()), {}), 1);
}

// What ran once was cold. So that each process adds to it, it is not kept; here there is no time to
// run all of them again.
TEST_F(CostFile, HasWhatRanMoreThanOnce) {
  Metas inputs(41, {{1024, 1024}, DType::f32});
  for (int64_t i = 1; i < std::ssize(inputs); ++i)
    inputs[static_cast<size_t>(i)].shape = {1024, 1000 + i};
  const Program program = capture(
      [](std::span<const Tensor> in) {
        std::vector<Tensor> products;
        for (const Tensor& x : in.subspan(1)) products.push_back(matmul(in[0], x));
        return products;
      },
      inputs);
  instruction_costs(program, CostModel::measured);
  const KnownCosts kept = read_costs(cost_file());
  EXPECT_FALSE(kept.empty());
  double seconds = 0;  // of the three runs of the second round
  for (const auto& [key, cost] : kept)
    if (3 * cost.near < kMeasuringSeconds) seconds += 3 * cost.near;
  EXPECT_LE(seconds, kMeasuringSeconds);
}

// Times that were measured twice would differ. Once the shell finds the program, and not a file
// that is called the same.
TEST_F(CostFile, TheNextProcessPlansByTheSameTimes) {
  const std::string command =
      "train_cnn --model resnet8 --batch 4 --threads 1 --plan-only --workers 0 --budget 3MiB";
  const examples::Outcome first = examples::run(command);
  const auto files = [&] {
    return std::distance(fs::directory_iterator(folder_ / "plimsoll"), fs::directory_iterator());
  };
  ASSERT_EQ(first.code, 0) << first.output;
  ASSERT_EQ(files(), 1);
  const fs::path kept = fs::directory_iterator(folder_ / "plimsoll")->path();
  const auto machine = [&] {
    std::string line;
    std::ifstream file(kept);
    std::getline(file, line);
    return line;
  };
  const std::string first_machine = machine();
  std::ofstream(folder_ / "train_cnn") << "another file";
  const std::string found = cat("cd ", folder_.string(), " && PATH=" PLIMSOLL_BIN_DIR ":$PATH ");
  // What a busy machine left no time for is measured by the next ones.
  std::string last = first.output;
  int runs = 1;
  for (std::string now; (now = run_shell(found + command).output) != last; last = now)
    ASSERT_LT(++runs, 6) << now;
  EXPECT_EQ(machine(), first_machine);
  std::ofstream(kept) << "not a file of costs";
  EXPECT_EQ(examples::run(command).code, 0);
  EXPECT_EQ(read_costs(kept).size(), 0U);  // of another program than this
  EXPECT_GT(fs::file_size(kept), 1000U);
}

}  // namespace
}  // namespace plimsoll
