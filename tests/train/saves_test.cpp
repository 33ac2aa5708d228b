// Saves: the newest file is whole, whatever happened to the process or the disk while it was
// written. PLIMSOLL_KILLS sets how many processes are killed.
#include "train/saves.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <random>
#include <thread>

#include "tests/train/numbered.h"

namespace plimsoll::train {
namespace {

namespace fs = std::filesystem;
using data::names_in;
using data::TemporaryFolder;

TEST(TrainSaves, TheNewestAndTheBestAreKept) {
  const TemporaryFolder dir;
  Numbered numbered;
  Saves saves(dir / "saves", 2);
  for (int64_t number = 1; number <= 6; ++number) {
    numbered.set(number);
    saves.save(number, numbered.state, /*best=*/number == 2 || number == 3);
  }
  saves.finish();
  EXPECT_EQ(names_in(dir / "saves"),
            (std::vector<std::string>{"step-000000003-best.safetensors",
                                      "step-000000005.safetensors", "step-000000006.safetensors"}));
  Numbered other;
  const Restored restored = restore_newest(dir / "saves", other.state);
  EXPECT_EQ(restored.file, dir / "saves" / "step-000000006.safetensors");
  EXPECT_EQ(other.number, 6);
  other.expect_whole();
}

TEST(TrainSaves, OnlyNamesOfItsOwnAreSaves) {
  const TemporaryFolder dir;
  for (const char* name :
       {"step-7.safetensors", "step--00000007.safetensors", "step-000000007-bes.safetensors",
        "step-000000007.safetensors.tmp", "step-00000000x.safetensors", "latest", "step-",
        "step-000000008.safetensors", "step-1000000000-best.safetensors"})
    dir.write(name, "x");
  const std::vector<Save> saves = list_saves(dir.path());
  ASSERT_EQ(saves.size(), 2U);
  EXPECT_EQ(saves[0].number, 1'000'000'000);
  EXPECT_TRUE(saves[0].best);
  EXPECT_EQ(saves[1].number, 8);
  EXPECT_TRUE(list_saves(dir / "nowhere").empty());
  fs::create_directories(dir / "step-notes");
  fs::create_directories(dir / "step-9");
  fs::create_directories(dir / "step-000000010");  // a set that was killed
  fs::create_directories(dir / "step-000000011.safetensors");
  const std::vector<std::string> before = names_in(dir.path());
  const Saves next(dir.path(), 1);
  std::vector<std::string> after = names_in(dir.path());
  after.insert(after.end(), {"step-000000007.safetensors.tmp", "step-000000010"});
  std::ranges::sort(after);
  EXPECT_EQ(after, before);
}

TEST(TrainSaves, DamagedFilesAreSkippedAndNamed) {
  const TemporaryFolder dir;
  Numbered numbered;
  {
    Saves saves(dir.path(), 3);
    for (int64_t number = 1; number <= 3; ++number) {
      numbered.set(number);
      saves.save(number, numbered.state, false);
    }
    saves.finish();
  }
  const fs::path newest = dir / "step-000000003.safetensors";
  fs::resize_file(newest, fs::file_size(newest) - 1);
  const fs::path second = dir / "step-000000002.safetensors";
  data::Bytes bytes = data::read_file(second);
  bytes[bytes.size() - 100] ^= 1;
  dir.write(second.filename().string(), bytes);
  Numbered other;
  const Restored restored = restore_newest(dir.path(), other.state);
  EXPECT_EQ(other.number, 1);
  ASSERT_EQ(restored.damaged.size(), 2U);
  EXPECT_EQ(restored.damaged[0].file, newest);
  EXPECT_NE(restored.damaged[1].why.find("state: the file is damaged: " + second.string()),
            std::string::npos)
      << restored.damaged[1].why;
  for (const Damaged& damaged : restored.damaged) set_aside(damaged);
  EXPECT_EQ(list_saves(dir.path()).size(), 1U);
  fs::resize_file(dir / "step-000000001.safetensors", 4);
  EXPECT_THROW(restore_newest(dir.path(), other.state), DataError);
  EXPECT_TRUE(restore_newest(dir / "nowhere", other.state).file.empty());
}

// The file is written while training goes on: it has what was there when save() returned.
TEST(TrainSaves, WhatChangesMeanwhileIsNotSaved) {
  const TemporaryFolder dir;
  Numbered numbered(200'000);  // 34 MB
  Saves saves(dir.path(), 1);
  numbered.set(1);
  saves.save(1, numbered.state, false);
  numbered.set(2);
  saves.finish();
  restore_newest(dir.path(), numbered.state);
  EXPECT_EQ(numbered.number, 1);
  numbered.expect_whole();
}

// A child that saves without a pause is killed at a random moment, again and again.
TEST(TrainSaves, AKilledProcessLeavesTheOldStateOrTheNew) {
  const int kills = kills_or(200);
  const TemporaryFolder dir;
  std::mt19937 random(7);
  int torn = 0;
  int64_t last = 0;
  for (int i = 0; i < kills; ++i) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      Numbered numbered(5'000);
      Saves saves(dir.path(), 2);
      for (int64_t number = last + 1;; ++number) {
        numbered.set(number);
        saves.save(number, numbered.state, number % 5 == 0);
      }
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 40'000));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    for (const std::string& name : names_in(dir.path())) torn += name.ends_with(".tmp");
    const int64_t left = number_left(dir.path(), 5'000, last);
    if (left > 0) {
      EXPECT_EQ(list_saves(dir.path())[0].number, left);
    }
    last = left;
  }
  std::printf("%d kills, %d of them in the middle of a file, %lld states written\n", kills, torn,
              static_cast<long long>(last));
  EXPECT_GT(last, 0);
  if (kills >= 100) {
    EXPECT_GT(torn, kills / 10);  // or the kills came at other moments than they were meant to
  }
  const Saves next(dir.path(), 2);  // cleans up
  for (const std::string& name : names_in(dir.path())) EXPECT_FALSE(name.ends_with(".tmp"));
}

// No file may grow beyond a limit, as on a full disk. The error comes out at the next save or at
// the end, once; the old file is still there, and nothing else.
TEST(TrainSaves, AFullDiskLeavesTheOldState) {
  const TemporaryFolder dir;
  Numbered numbered;
  Saves saves(dir.path(), 2);
  numbered.set(1);
  saves.save(1, numbered.state, false);
  saves.finish();
  const auto size = static_cast<rlim_t>(fs::file_size(list_saves(dir.path())[0].file));
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  for (rlim_t limit = 0; limit < size; limit += size / 50) {
    const rlimit small{.rlim_cur = limit, .rlim_max = before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
    numbered.set(2);
    saves.save(2, numbered.state, false);
    EXPECT_THROW(saves.finish(), DataError) << limit;
    saves.finish();
    setrlimit(RLIMIT_FSIZE, &before);
    EXPECT_EQ(names_in(dir.path()), std::vector<std::string>{"step-000000001.safetensors"});
    Numbered other;
    restore_newest(dir.path(), other.state);
    EXPECT_EQ(other.number, 1);
    other.expect_whole();
  }
  std::signal(SIGXFSZ, handler);
  saves.save(2, numbered.state, false);
  saves.finish();
  EXPECT_EQ(list_saves(dir.path()).size(), 2U);
}

TEST(TrainSaves, RefusesFoldersThatCannotBeMade) {
  const TemporaryFolder dir;
  dir.write("file", "mine");
  EXPECT_THROW(Saves(dir / "file" / "saves", 1), DataError);
  EXPECT_THROW(Saves(dir / "saves", 0), ValueError);
  EXPECT_FALSE(fs::exists(dir / "saves"));
}

}  // namespace
}  // namespace plimsoll::train
