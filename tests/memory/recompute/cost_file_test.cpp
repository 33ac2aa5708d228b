// Costs that are kept for the next process: whole, or not at all.
#include "memory/recompute/cost_file.h"

#include <gtest/gtest.h>

#include <fstream>

#include "memory/step/passes.h"
#include "tests/examples/testing.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

class CostFile : public ::testing::Test {
 protected:
  CostFile() : folder_(fs::temp_directory_path() / cat("plimsoll_costs_", getpid())) {
    fs::create_directories(folder_);
  }
  ~CostFile() override { fs::remove_all(folder_); }

  std::string bytes() const {
    std::ifstream in(file(), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write(const std::string& bytes) const { std::ofstream(file(), std::ios::binary) << bytes; }
  fs::path file() const { return folder_ / "deep" / "costs"; }

  const fs::path folder_;
};

TEST_F(CostFile, ReadsBackToTheLastBit) {
  EXPECT_TRUE(read_costs(file()).empty());
  const KnownCosts costs{{1, {1.0 / 3, 0.7}}, {~uint64_t{0}, {0, 1e-300}}, {77, {2e-9, 2e-9}}};
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
}

// Times that were measured twice would differ.
TEST_F(CostFile, TheNextProcessPlansByTheSameTimes) {
  setenv("XDG_CACHE_HOME", folder_.c_str(), 1);
  const std::string command =
      "train_cnn --model resnet8 --batch 16 --threads 1 --plan-only --workers 0 --budget 9MiB";
  const examples::Outcome first = examples::run(command);
  const auto files = [&] {
    return std::distance(fs::directory_iterator(folder_ / "plimsoll"), fs::directory_iterator());
  };
  ASSERT_EQ(first.code, 0) << first.output;
  ASSERT_EQ(files(), 1);
  EXPECT_EQ(examples::run(command).output, first.output);
  const fs::path kept = fs::directory_iterator(folder_ / "plimsoll")->path();
  std::ofstream(kept) << "not a file of costs";
  EXPECT_EQ(examples::run(command).code, 0);
  EXPECT_EQ(read_costs(kept).size(), 0U);  // of another program than this
  EXPECT_GT(fs::file_size(kept), 1000U);
  unsetenv("XDG_CACHE_HOME");
}

}  // namespace
}  // namespace plimsoll
