// Signals and kills: what was trained is kept, and goes on to the same bits.
#include "tests/campaign/campaign.h"

namespace plimsoll::examples {
namespace {

constexpr int kLong = 400;  // updates, so that a signal comes in time

TEST(CampaignSignals, EachThatAsksForAnEndSaves) {
  const Campaign campaign;
  campaign.make_whole(kLong);
  int saved = 0;
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGXCPU, SIGXFSZ, SIGPIPE}) {
    SCOPED_TRACE(strsignal(number));
    const std::string name = cat("signal", number);
    EXPECT_EQ(campaign.interrupt(campaign.train(campaign.into(name), kLong), name, number), 130);
    const std::string output = data::read_text(campaign.dir / "output");
    EXPECT_NE(output.find("resume goes on from "), std::string::npos) << output;
    EXPECT_EQ(output.find("a second Ctrl-C ends at once") != std::string::npos, number == SIGINT);
    EXPECT_EQ(run("train_transformer --resume " + campaign.dir.text(name)).code, 0);
    campaign.expect_same_as_whole(name);
    ++saved;
  }
  EXPECT_EQ(saved, 7);
}

// Nothing is lost that was saved, wherever the process is ended.
TEST(CampaignSignals, TwentyKillsLoseNothing) {
  const Campaign campaign;
  campaign.make_whole(kLong);
  const std::string command = campaign.train("--resume " + campaign.into("killed"), kLong);
  int kills = 0;
  for (; kills < 20; ++kills) {
    const auto before = train::list_saves(campaign.dir / "killed" / "saves");
    const int64_t done = before.empty() ? 0 : before[0].number;
    const Running running(PLIMSOLL_BIN_DIR "/" + command, campaign.dir / "output");
    for (int i = 0; i < 6000; ++i) {  // until it has saved more, and then a little
      const auto now = train::list_saves(campaign.dir / "killed" / "saves");
      if (!now.empty() && now[0].number > done) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    std::this_thread::sleep_for(std::chrono::microseconds(317 * kills));
    running.signal(SIGKILL);
    if (running.wait() == 0) break;  // it was faster
    const auto after = train::list_saves(campaign.dir / "killed" / "saves");
    ASSERT_FALSE(after.empty());
    EXPECT_GE(after[0].number, done);
  }
  std::printf("killed %d times\n", kills);
  EXPECT_GE(kills, 5);
  ASSERT_EQ(run(command).code, 0);
  campaign.expect_same_as_whole("killed");
}

// Before there is anything to save, a signal ends the process at once: this search takes many
// seconds.
TEST(CampaignSignals, APlanIsNotWaitedFor) {
  const Campaign campaign;
  const Running running(
      PLIMSOLL_BIN_DIR "/" + campaign.train("--plan-seconds 1000000 --cost model --budget 1kB "
                                            "--layers 48"),
      campaign.dir / "output");
  std::this_thread::sleep_for(std::chrono::seconds(1));
  running.signal(SIGTERM);
  EXPECT_EQ(running.wait(), -SIGTERM) << data::read_text(campaign.dir / "output");
}

}  // namespace
}  // namespace plimsoll::examples
