// The log of a run: rows in two formats, and going on after a process that ended anywhere.
#include "train/log/log.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "tests/data/testing.h"
#include "train/run_folder.h"

namespace plimsoll::train {
namespace {

using data::TemporaryFolder;

TEST(TrainLog, WritesRowsForSpreadsheetsAndPrograms) {
  const TemporaryFolder dir;
  Log log(dir.path(), {"loss", "val_loss"}, 0);
  log.row(50, {{"loss", 2.5}});
  log.row(100, {{"val_loss", std::numeric_limits<double>::infinity()}, {"loss", 0.1}});
  EXPECT_EQ(data::read_text(dir / "log.csv"), "batches,loss,val_loss\n50,2.5,\n100,0.1,inf\n");
  std::ifstream lines(dir / "metrics.jsonl");
  std::string line;
  std::getline(lines, line);
  auto row = nlohmann::json::parse(line);
  EXPECT_GT(row["time"], 1.7e9);
  row.erase("time");
  EXPECT_EQ(row, (nlohmann::json{{"batches", 50}, {"loss", 2.5}}));
  std::getline(lines, line);
  EXPECT_TRUE(nlohmann::json::parse(line)["val_loss"].is_null());
  EXPECT_THROW(log.row(150, {{"accuracy", 1}}), ValueError);
}

TEST(TrainLog, GoesOnWhereTheStateIs) {
  const TemporaryFolder dir;
  {
    Log log(dir.path(), {"loss"}, 0);
    for (int64_t batches : {10, 20, 30, 40}) log.row(batches, {{"loss", 1. / double(batches)}});
  }
  for (const char* name : {"log.csv", "metrics.jsonl"}) {  // killed in the middle of a row
    std::ofstream file(dir / name, std::ios::app);
    file << (std::string(name) == "log.csv" ? "5" : "{\"batches\": 5");
  }
  Log log(dir.path(), {"loss"}, 20);
  log.row(25, {{"loss", 3}});
  EXPECT_EQ(data::read_text(dir / "log.csv"), "batches,loss\n10,0.1\n20,0.05\n25,3\n");
  std::ifstream lines(dir / "metrics.jsonl");
  std::vector<int64_t> batches;
  for (std::string line; std::getline(lines, line);)
    batches.push_back(nlohmann::json::parse(line)["batches"]);
  EXPECT_EQ(batches, (std::vector<int64_t>{10, 20, 25}));
}

TEST(TrainLog, AFullDiskIsADataError) {
  const TemporaryFolder dir;
  Log log(dir.path(), {"loss"}, 0);
  std::filesystem::remove(dir / "log.csv");
  EXPECT_NO_THROW(log.row(1, {{"loss", 1}}));  // the file is still open
  EXPECT_THROW(Log(dir / "nowhere", {"loss"}, 0), DataError);
}

TEST(TrainRunFolder, IsForOneProcessAndOneTraining) {
  const TemporaryFolder dir;
  const std::filesystem::path path = dir / "runs" / "a";
  {
    const RunFolder run(path, false);
    EXPECT_EQ(error_of<UsageError>([&] { RunFolder(path, true); }),
              "run: another process trains in this folder: " + path.string() +
                  ". Wait for it, or name another folder.");
  }
  std::filesystem::create_directories(RunFolder::saves_of(path));
  std::ofstream(path / "log.csv.123.0.tmp") << "half";
  std::ofstream(path / "mine.tmp") << "mine";
  { const RunFolder again(path, false); }
  EXPECT_FALSE(std::filesystem::exists(path / "log.csv.123.0.tmp"));
  EXPECT_TRUE(std::filesystem::exists(path / "mine.tmp"));
  std::ofstream(RunFolder::saves_of(path) / "step-000000007.safetensors") << "x";
  EXPECT_EQ(error_of<UsageError>([&] { RunFolder(path, false); }),
            "run: there is a training in this folder: " + path.string() +
                ". Resume it, or name another folder.");
  { const RunFolder resumed(path, true); }
  dir.write("file", "mine");
  EXPECT_EQ(error_of<UsageError>([&] { RunFolder(dir / "file", false); }),
            "run: the folder cannot be made: " + dir.text("file") +
                " (Not a directory). Name one in a folder that exists and is yours.");
}

}  // namespace
}  // namespace plimsoll::train
