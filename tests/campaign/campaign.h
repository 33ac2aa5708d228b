// A small training that hostile surroundings are tried on: 24 updates of a gpt on a text.
//
//   const Campaign campaign;
//   campaign.expect_same_as_whole("killed");     // that run's last save and its log
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "tests/data/testing.h"
#include "tests/examples/small_data.h"
#include "tests/examples/testing.h"
#include "tests/support/running.h"
#include "train/saves.h"

namespace plimsoll::examples {

struct Campaign {
  Campaign() { dir.write("text", small_text()); }

  std::string train(const std::string& options, int steps = 24) const {
    return cat("train_transformer --data text:", dir.text("text"),
               " --width 16 --heads 2 --context 16 --batch 4 --dropout 0.1 --threads 1 "
               "--eval-every 10 --log-every 3 --save-every 5 --steps ",
               steps, options.find("--layers") == options.npos ? " --layers 1 " : " ", options);
  }
  std::string into(const std::string& run) const { return "--run " + dir.text(run); }

  // Trains once as nobody disturbs it.
  void make_whole(int steps = 24) const {
    const Outcome outcome = run(train(into("whole"), steps));
    ASSERT_EQ(outcome.code, 0) << outcome.output;
  }
  // Until a run has a save, and then a signal. Returns how it ended.
  int interrupt(const std::string& command, const std::string& name, int number) const {
    const Running running(PLIMSOLL_BIN_DIR "/" + command, dir / "output");
    for (int i = 0; i < 6000 && train::list_saves(dir / name / "saves").empty(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    running.signal(number);
    return running.wait();
  }
  void expect_same_as_whole(const std::string& name) const {
    const auto saves = train::list_saves(dir / name / "saves"),
               whole = train::list_saves(dir / "whole" / "saves");
    ASSERT_FALSE(saves.empty());
    ASSERT_FALSE(whole.empty());
    EXPECT_EQ(saves[0].number, whole[0].number);
    EXPECT_TRUE(data::read_file(saves[0].file) == data::read_file(whole[0].file))
        << "the states differ";
    EXPECT_EQ(data::read_text(dir / name / "log.csv"), data::read_text(dir / "whole" / "log.csv"));
  }

  data::TemporaryFolder dir;
};

}  // namespace plimsoll::examples
