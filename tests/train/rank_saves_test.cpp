// Saves that ranks write side by side: one set of whole tensors, the old one or the new one at any
// moment, for anybody who reads safetensors. PLIMSOLL_KILLS sets how many ranks are killed.
#include <sys/resource.h>

#include <atomic>
#include <csignal>
#include <nlohmann/json.hpp>
#include <random>

#include "data/file.h"
#include "memory/pool/pooled_allocator.h"
#include "tests/cuda/processes.h"
#include "tests/support/python.h"
#include "tests/support/thread_ranks.h"
#include "tests/train/numbered.h"
#include "tests/train/saved_text.h"

namespace plimsoll::train {
namespace {

namespace fs = std::filesystem;
using data::names_in;
using data::TemporaryFolder;

constexpr const char* kIndex = formats::Shards::kIndex;

// The files of a set that its index names, and it.
std::set<std::string> named_in(const fs::path& set) {
  std::set<std::string> names{kIndex};
  for (const auto& [name, file] : formats::read_index(set / kIndex)) names.insert(file);
  return names;
}

std::set<std::string> files_in(const fs::path& set) {
  const std::vector<std::string> names = names_in(set);
  return {names.begin(), names.end()};
}

// Whether there is a set without an index, or a file that no index names.
bool is_torn(const fs::path& folder) {
  return std::ranges::any_of(names_in(folder), [&](const std::string& name) {
    return !fs::exists(folder / name / kIndex) ||
           files_in(folder / name) != named_in(folder / name);
  });
}

// Saves 1 to `last`, one after another.
void save(const fs::path& folder, int64_t ranks, int64_t last, int64_t keep = 2) {
  run_ranks(ranks, [&](Ranks& own) {
    Numbered numbered;
    Saves saves(folder, keep, &own);
    for (int64_t number = 1; number <= last; ++number) {
      numbered.set(number);
      saves.save(number, numbered.state, /*best=*/number == 1);
      saves.look();
    }
    saves.finish();
  });
}

TEST(RankSaves, AreOneSetWithAnIndex) {
  const TemporaryFolder dir;
  save(dir / "four", 4, 4);
  EXPECT_EQ(names_in(dir / "four"),
            (std::vector<std::string>{"step-000000001-best", "step-000000003", "step-000000004"}));
  const fs::path set = dir / "four" / "step-000000004";
  EXPECT_EQ(names_in(set),
            (std::vector<std::string>{
                "model-00001-of-00004.safetensors", "model-00002-of-00004.safetensors",
                "model-00003-of-00004.safetensors", "model-00004-of-00004.safetensors", kIndex}));
  const auto index = nlohmann::json::parse(data::read_text(set / kIndex));
  EXPECT_EQ(index["metadata"]["total_size"], 8 + 8 * 21'000);
  EXPECT_EQ(index["weight_map"].size(), 7U);
  EXPECT_EQ(index["weight_map"]["run.number"], "model-00001-of-00004.safetensors");
  EXPECT_EQ(index["weight_map"]["layer6.weight"], "model-00004-of-00004.safetensors");

  save(dir / "one", 1, 4);
  EXPECT_TRUE(fs::is_regular_file(dir / "one" / "step-000000004.safetensors"));
  EXPECT_TRUE(saved_text(dir / "one") == saved_text(dir / "four"));
  Numbered other;
  const Restored restored = restore_newest(dir / "four", other.state);
  EXPECT_EQ(restored.file, set / kIndex);
  EXPECT_EQ(other.number, 4);
  other.expect_whole();
  EXPECT_FALSE(is_best(restored.file));
  EXPECT_EQ(file_named(set), restored.file);
  EXPECT_EQ(file_named(restored.file), restored.file);
  EXPECT_EQ(file_named(dir / "four"), dir / "four");

  fs::create_directory(dir / "copied");
  dir.write("four/step-000000001-best/model2-00001-of-00004.safetensors", "of a killed rank");
  copy_best(dir / "four", dir / "copied");
  ASSERT_EQ(list_saves(dir / "copied").size(), 1U);
  EXPECT_FALSE(is_torn(dir / "copied"));
  other.state.restore(list_saves(dir / "copied")[0].file);
  EXPECT_EQ(other.number, 1);
  EXPECT_TRUE(is_best(list_saves(dir / "copied")[0].file));
}

// A rank copies what it writes: its share, at most the largest tensor more. Of what ranks share one
// tensor at a time is there besides.
TEST(RankSaves, TakeAShareOfTheMemory) {
  Numbered numbered(10'000);
  const int64_t all = numbered.state.bytes(), largest = 8 * 60'000;
  State shared;
  for (const Tensor& tensor : numbered.tensors) {
    const auto gathered = [meta = tensor.meta()] { return Tensor::empty(meta); };
    const optim::SharedTensor part{tensor.meta(), gathered, {}};
    shared.tensors("", std::vector{std::pair(cat("layer", tensor.count()), part)});
  }
  for (const int64_t ranks : {2, 3, 4, 8})
    for (int64_t rank = 0; rank < ranks; ++rank)
      for (const State* const state :
           std::initializer_list<const State*>{&numbered.state, &shared}) {
        const auto memory = std::make_shared<PooledAllocator>(host_provider());
        const AllocatorScope scope(memory);
        state->copy(rank, ranks);
        const int64_t own = state->bytes(rank, ranks), peak = memory->stats().peak.bytes;
        EXPECT_LE(own, all / ranks + largest + 1024);
        EXPECT_LE(peak, own + (state == &shared ? largest : 0));
        EXPECT_GE(peak, own);
      }
}

// The same batches again, with another state: as before and after an evaluation.
TEST(RankSaves, ReplaceASetOfTheSameName) {
  const TemporaryFolder dir;
  run_ranks(2, [&](Ranks& ranks) {
    Numbered numbered;
    Saves saves(dir.path(), 1, &ranks);
    for (int64_t value = 1; value <= 3; ++value) {
      numbered.set(value);
      saves.save(7, numbered.state, false);
    }
    saves.finish();
  });
  EXPECT_EQ(names_in(dir.path()), std::vector<std::string>{"step-000000007"});
  EXPECT_EQ(names_in(dir / "step-000000007").size(), 3U);
  Numbered other;
  restore_newest(dir.path(), other.state);
  EXPECT_EQ(other.number, 3);
  other.expect_whole();
}

// A reader finds the set before or the one after, whole.
TEST(RankSaves, AreReadWhileTheyAreReplaced) {
  const TemporaryFolder dir;
  const fs::path index = dir / "step-000000007" / kIndex;
  std::atomic<bool> over = false;
  std::thread reader([&] {
    int64_t last = 0;
    while (!over) {
      if (!fs::exists(index)) continue;
      Numbered other(10);
      EXPECT_NO_THROW(other.state.restore(index));
      EXPECT_GE(other.number, last);
      other.expect_whole();
      last = other.number;
    }
    EXPECT_GT(last, 1);
  });
  run_ranks(2, [&](Ranks& ranks) {
    Numbered numbered(10);
    Saves saves(dir.path(), 1, &ranks);
    for (int64_t value = 1; value <= 300; ++value) {
      numbered.set(value);
      saves.save(7, numbered.state, false);
    }
    saves.finish();
  });
  over = true;
  reader.join();
}

// A rewrite that was killed before its index leaves files beside the old set; they go, and what is
// not a save's stays.
TEST(RankSaves, KeepWhatTheirIndexNames) {
  const TemporaryFolder dir;
  save(dir.path(), 2, 2);
  const std::string set = "step-000000002/";
  const std::set<std::string> whole = files_in(dir / set);
  for (const char* name :
       {"model2-00001-of-00002.safetensors", "model-00001-of-00002.safetensors.tmp",
        "model.safetensors.index.json.1.0.tmp"})
    dir.write(set + name, "x");
  EXPECT_TRUE(is_torn(dir.path()));
  { const Saves next(dir.path(), 2); }
  EXPECT_EQ(files_in(dir / set), whole);
  dir.write(set + "notes.txt", "x");
  dir.write(set + kIndex, "damaged");
  { const Saves next(dir.path(), 2); }
  EXPECT_EQ(files_in(dir / set).size(), whole.size() + 1);
}

TEST(RankSaves, AreSkippedWhereAFileIsDamagedOrMissing) {
  const TemporaryFolder dir;
  save(dir.path(), 2, 4, 4);
  fs::remove(dir / "step-000000004/model-00002-of-00002.safetensors");
  const std::string damaged = "step-000000003/model-00001-of-00002.safetensors";
  data::Bytes bytes = data::read_file(dir / damaged);
  bytes[bytes.size() - 100] ^= 1;
  dir.write(damaged, bytes);
  fs::remove(dir / "step-000000002" / kIndex);  // as one that was killed
  Numbered other;
  const Restored restored = restore_newest(dir.path(), other.state);
  EXPECT_EQ(other.number, 1);
  ASSERT_EQ(restored.damaged.size(), 2U);
  EXPECT_NE(restored.damaged[0].why.find("a shard is missing"), std::string::npos)
      << restored.damaged[0].why;
  EXPECT_NE(restored.damaged[1].why.find("state: the file is damaged"), std::string::npos)
      << restored.damaged[1].why;
  for (const Damaged& each : restored.damaged) set_aside(each);
  EXPECT_EQ(list_saves(dir.path()).size(), 1U);
  const Saves next(dir.path(), 4);  // cleans up, and leaves what is looked at later
  EXPECT_EQ(names_in(dir.path()),
            (std::vector<std::string>{"step-000000001-best", "step-000000003", "step-000000004"}));
}

// No file may grow beyond a limit, as on a full disk.
TEST(RankSaves, AFullDiskLeavesTheOldSet) {
  const TemporaryFolder dir;
  save(dir.path(), 2, 1);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{.rlim_cur = 60'000, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  EXPECT_THROW(save(dir.path(), 2, 2), DataError);
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  Numbered other;
  restore_newest(dir.path(), other.state);
  EXPECT_EQ(other.number, 1);
  other.expect_whole();
}

// One of three processes that save without a pause is killed at a random moment, again and again;
// the others go on for a while, as they do until a launcher ends them.
TEST(RankSaves, AKilledRankLeavesTheOldSetOrTheNew) {
  const int kills = kills_or(30);
  const TemporaryFolder dir;
  std::mt19937 random(7);
  int torn = 0;
  int64_t last = 0;
  for (int i = 0; i < kills; ++i) {
    const int victim = static_cast<int>(random() % 3);
    const std::chrono::microseconds moment(random() % 60'000);
    run_processes(
        3,
        [&](std::unique_ptr<Ranks> ranks) -> std::string {
          Numbered numbered(5'000);
          Saves saves(dir.path(), 2, ranks.get());
          if (ranks->rank() == victim)
            std::thread([&] {
              std::this_thread::sleep_for(moment);
              raise(SIGKILL);
            }).detach();
          for (int64_t number = last + 1;; ++number) {
            numbered.set(number);
            saves.save(number / 2, numbered.state, number % 9 == 0);  // each name twice
            saves.look();
          }
        },
        std::chrono::milliseconds(100));
    torn += is_torn(dir.path());
    const int64_t left = number_left(dir.path(), 5'000, last);
    if (left > 0) {
      EXPECT_EQ(list_saves(dir.path())[0].number, left / 2);
    }
    last = left;
  }
  std::printf("%d kills, %d of them in the middle of a set, %lld sets written\n", kills, torn,
              static_cast<long long>(last));
  EXPECT_GT(last, 0);
  if (kills >= 30) {
    EXPECT_GT(torn, kills / 10);  // or the kills came at other moments than they were meant to
  }
  const Saves next(dir.path(), 2);  // cleans up
  EXPECT_FALSE(is_torn(dir.path()));
}

TEST(RankSaves, AreReadBySafetensorsAndTransformers) {
  NEEDS_PYTHON("torch, safetensors, transformers");
  const TemporaryFolder dir;
  save(dir / "four", 4, 2);
  save(dir / "one", 1, 2);
  const python::Outcome outcome =
      python::run("train/references/read_set.py",
                  {dir.text("four/step-000000002"), dir.text("one/step-000000002.safetensors")});
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_NE(outcome.output.find("7 tensors are the same"), std::string::npos) << outcome.output;
}

}  // namespace
}  // namespace plimsoll::train
