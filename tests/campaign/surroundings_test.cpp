// What a process is started in: descriptors, locales, names of folders, limits. None changes a bit.
#include <unistd.h>

#include <fstream>

#include "tests/campaign/campaign.h"

namespace plimsoll::examples {
namespace {

TEST(CampaignSurroundings, ClosedDescriptors) {
  const Campaign campaign;
  campaign.make_whole();
  int tried = 0;
  for (const std::string closed :
       {"<&-", ">&-", "2>&-", "<&- >&-", "<&- 2>&-", ">&- 2>&-", "<&- >&- 2>&-"}) {
    SCOPED_TRACE(closed);
    const std::string name = cat("closed", tried++);
    const Outcome outcome = run_shell(
        cat("(exec ", PLIMSOLL_BIN_DIR, "/",
            campaign.train(campaign.into(name) + " --tensorboard " + campaign.dir.text(name)), " ",
            closed, ")"));
    EXPECT_EQ(outcome.code, 0) << outcome.output;
    campaign.expect_same_as_whole(name);
  }
  EXPECT_EQ(tried, 7);
}

TEST(CampaignSurroundings, AFullStandardOutput) {
  for (const char* command :
       {"fit --model lenet --vram 64MiB --precisions f32 --plan-seconds 0.01", "train_cnn --help",
        "train_cnn --print-config", "train_cnn --epochs 1 --stop-after 1"}) {
    const Outcome outcome =
        run_shell(cat("(exec ", PLIMSOLL_BIN_DIR, "/", command, " 2>&1 >/dev/full)"));
    EXPECT_EQ(outcome.code, 1) << command;
    EXPECT_NE(outcome.output.find("standard output: not all could be written."), std::string::npos)
        << command << outcome.output;
  }
}

// Numbers have points in files and on the command line, whatever the locale. Those that are not
// installed count as C.
TEST(CampaignSurroundings, Locales) {
  const Campaign campaign;
  campaign.make_whole();
  int tried = 0;
  for (const char* locale :
       {"de_DE.UTF-8", "fr_FR.UTF-8", "tr_TR.UTF-8", "C.UTF-8", "POSIX", "xx"}) {
    const std::string name = cat("locale", tried++);
    const Outcome outcome = run(campaign.train(campaign.into(name)), cat("LC_ALL=", locale, " "));
    EXPECT_EQ(outcome.code, 0) << outcome.output;
    campaign.expect_same_as_whole(name);
  }
  EXPECT_EQ(tried, 6);
}

TEST(CampaignSurroundings, NamesOfFolders) {
  const Campaign campaign;
  campaign.make_whole();
  int tried = 0;
  for (const std::string& name : std::initializer_list<std::string>{
           "two words", "a#b", "it's", "\"q\"", "new\nline", "-dash", "a;b&c|d", "$HOME", "*", "\\",
           "\xc3\xa9\xe6\x97\xa5", "[x]=y", "...", std::string(200, 'n')}) {
    SCOPED_TRACE(name);
    std::string quoted;
    for (const char c : campaign.dir.text(name))
      quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    const Outcome begun = run(campaign.train("--stop-after 12 --run '" + quoted + "'"));
    EXPECT_EQ(begun.code, 0) << begun.output;
    const Outcome resumed = run("train_transformer --resume '" + quoted + "'");
    EXPECT_EQ(resumed.code, 0) << resumed.output;
    campaign.expect_same_as_whole(name);
    ++tried;
  }
  EXPECT_EQ(tried, 14);
  for (const char* option : {"--run", "--json", "--data"}) {
    const Outcome outcome =
        run(campaign.train(cat(option, " '", campaign.dir.text("\xff\xfe"), "'")));
    EXPECT_EQ(outcome.code, 2);
    EXPECT_NE(outcome.output.find(" is not UTF-8: "), std::string::npos) << outcome.output;
  }
}

// A file may not be larger than a save is: nothing is left half, and with room it goes on.
TEST(CampaignSurroundings, ALimitOfFileSizes) {
  const Campaign campaign;
  campaign.make_whole();
  const Outcome limited = run(campaign.train(campaign.into("limited")), "ulimit -f 40 && ");
  EXPECT_NE(limited.code, 0) << limited.output;
  EXPECT_NE(limited.code, -1) << "a signal ended it";
  EXPECT_TRUE(train::list_saves(campaign.dir / "limited" / "saves").empty());
  const Outcome resumed = run(campaign.train("--resume " + campaign.into("limited")));
  EXPECT_EQ(resumed.code, 0) << resumed.output;
  campaign.expect_same_as_whole("limited");
}

#if defined(__linux__) && !defined(__SANITIZE_ADDRESS__)  // which needs terabytes of addresses
// What `ulimit -v` leaves is what --budget auto takes: a batch that would need more is trained.
TEST(CampaignSurroundings, ALimitOfAddresses) {
  const std::string train =
      "train_cnn --model resnet8 --batch 512 --epochs 1 --budget auto --threads 2 --stop-after 1 "
      "--cost model --plan-seconds 0.3";
  const Outcome limited = run(train, "ulimit -v 250000 && ");
  EXPECT_EQ(limited.code, 0) << limited.output;
  EXPECT_EQ(limited.output.find(": 0 instructions run again"), std::string::npos) << limited.output;
  EXPECT_NE(run(train).output.find(": 0 instructions run again"), std::string::npos);
  const Outcome refused = run(train, "ulimit -v 150000 && ");
  EXPECT_EQ(refused.code, 2) << refused.output;
}

// A control group of this test with a limit of memory, for as long as an object lives; of version 1
// or 2, where this process may make one.
class MemoryGroup {
 public:
  explicit MemoryGroup(const std::string& bytes) {
    const std::string name = cat("plimsoll-", getpid());
    const std::filesystem::path groups = "/sys/fs/cgroup";
    for (const auto& [folder, limit] :
         {std::pair{groups / "memory" / name, "memory.limit_in_bytes"},
          std::pair{groups / name, "memory.max"}}) {
      std::error_code error;
      if (!std::filesystem::create_directory(folder, error)) continue;
      folder_ = folder;
      if (std::filesystem::exists(folder / limit) &&
          (std::ofstream(folder / limit) << bytes << std::flush))
        return;
      std::filesystem::remove(folder, error);
      folder_.clear();
    }
  }
  ~MemoryGroup() {
    std::error_code error;
    if (made()) std::filesystem::remove(folder_, error);
  }
  MemoryGroup(const MemoryGroup&) = delete;
  MemoryGroup& operator=(const MemoryGroup&) = delete;

  bool made() const { return !folder_.empty(); }
  // What a command begins with, to run in it.
  std::string enter() const { return cat("echo $$ > ", folder_.string(), "/cgroup.procs && "); }

 private:
  std::filesystem::path folder_;
};

// In 100 MB --budget auto takes what they leave. A larger batch is refused, and nobody is killed.
TEST(CampaignSurroundings, ALimitOfAControlGroup) {
  const MemoryGroup group("100000000");
  if (!group.made()) GTEST_SKIP() << "no control group can be made here";
  const std::string train =
      "train_cnn --model resnet8 --epochs 1 --budget auto --threads 2 --stop-after 3 "
      "--cost model --plan-seconds 0.3 --batch ";
  const Outcome outcome = run(train + "64", group.enter());
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  const int64_t budget = number_after(outcome.output, "budget ");
  EXPECT_GT(budget, 10'000'000) << outcome.output;
  EXPECT_LT(budget, 90'000'000);
  const Outcome refused = run(train + "4096", group.enter());
  EXPECT_EQ(refused.code, 2) << refused.output;
  EXPECT_NE(refused.output.find("the budget is too small: "), std::string::npos) << refused.output;
}

TEST(CampaignSurroundings, ABombIsRefusedBeforeItTakesMemory) {
  const data::TemporaryFolder dir;
  const data::Bytes member = data::gzip(data::Bytes(size_t{64} << 20));
  data::Bytes bomb;
  for (int i = 0; i < 17; ++i) bomb.insert(bomb.end(), member.begin(), member.end());  // 1 GiB more
  const Outcome outcome =
      run("train_transformer --data text:" + dir.write("bomb.gz", bomb).string(),
          "ulimit -v 400000 && ");
  EXPECT_EQ(outcome.code, 3) << outcome.output;
  EXPECT_NE(outcome.output.find("unpacks to more than 1073741824 bytes"), std::string::npos)
      << outcome.output;
}

// A row that cannot be measured does not take the others with it.
TEST(CampaignSurroundings, ARowThatFailsIsOneRow) {
  const Outcome outcome = run(
      "compare_memory --models lenet --batches 4096,4 --precisions f32 --budgets none --steps 1",
      "ulimit -v 400000 && ");
  EXPECT_EQ(outcome.code, 1) << outcome.output;
  EXPECT_NE(outcome.output.find(" failed: "), std::string::npos) << outcome.output;
  EXPECT_NE(outcome.output.find("rows could not be measured"), std::string::npos) << outcome.output;
  EXPECT_NE(outcome.output.find("lenet        4 f32   captured checkpoint"), std::string::npos)
      << outcome.output;
}
#endif

}  // namespace
}  // namespace plimsoll::examples
