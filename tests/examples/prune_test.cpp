// --prune and --tensorboard in the training programs.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/examples/testing.h"

namespace plimsoll::examples {
namespace {

namespace fs = std::filesystem;

TEST(ExamplesPrune, TrainCnnEndsAtTheShareThatWasAskedFor) {
  const fs::path folder =
      fs::temp_directory_path() / ("plimsoll_prune_" + std::to_string(getpid()));
  const Outcome outcome =
      run("train_cnn --model sepcnn --batch 256 --epochs 1 --prune 0.8 "
          "--tensorboard " +
          folder.string());
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  const size_t row = outcome.output.rfind(" are 0 ");
  ASSERT_NE(row, std::string::npos) << outcome.output;
  EXPECT_NEAR(std::stod(outcome.output.substr(row + 7)), 80, 0.1) << outcome.output;
  EXPECT_NE(outcome.output.find("%  all\n", row), std::string::npos) << outcome.output;

  std::ostringstream events;
  for (const auto& file : fs::directory_iterator(folder))
    events << std::ifstream(file.path(), std::ios::binary).rdbuf();
  for (const char* tag : {"train/loss", "train/learning_rate", "evaluation/accuracy", "memory/peak",
                          "memory/parameters"})
    EXPECT_NE(events.str().find(tag), std::string::npos) << tag;
  fs::remove_all(folder);
}

TEST(ExamplesPrune, SharesAndFoldersAreChecked) {
  for (const char* share : {"1", "-0.1", "nan", "eighty"})
    EXPECT_EQ(run(std::string("train_cnn --prune ") + share).code, 2) << share;
  const Outcome outcome = run("train_transformer --steps 1 --tensorboard /proc/none");
  EXPECT_EQ(outcome.code, 2) << outcome.output;
  EXPECT_NE(outcome.output.find("tensorboard: events: the file cannot be made: "),
            std::string::npos)
      << outcome.output;
}

}  // namespace
}  // namespace plimsoll::examples
