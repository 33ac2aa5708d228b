// The progress line: whole where there is room, never wider than the terminal.
#include "train/log/progress.h"

#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <sstream>

namespace plimsoll::train {
namespace {

TEST(Progress, LinesFitTheTerminal) {
  const std::string line = "epoch 1/5 7/78  9 images/s";
  EXPECT_EQ(fit_line(line, 80), line);
  EXPECT_EQ(fit_line(line, 27), line);  // the last column is the cursor's
  EXPECT_EQ(fit_line(line, 26), "epoch 1/5 7/78 9 images/s");
  EXPECT_EQ(fit_line(line, 10), "epoch 1/5");
  EXPECT_EQ(fit_line(line, 13), "epoch 1/5");
  EXPECT_EQ(fit_line(line, 3), "ep");
  EXPECT_EQ(fit_line(line, 1), "");
  EXPECT_EQ(fit_line(line, 0), "");
  // The longest usual one keeps its end on 80 columns.
  const std::string usual =
      "batch 2340/4680  2345 images/s  loss 0.123  peak 80.4 plan 80.4 MiB  ETA 12:34";
  EXPECT_EQ(fit_line(usual, 80), usual);
  EXPECT_EQ(fit_line(usual, 75),
            "batch 2340/4680 2345 images/s loss 0.123 peak 80.4 plan 80.4 MiB ETA 12:34");
  EXPECT_TRUE(fit_line(usual, 74).ends_with("80.4 MiB ETA"));  // no half of a number
}

// What a Progress writes to a terminal of so many columns; 0: it does not say.
std::string shown_on_terminal(int columns) {
  winsize size{};
  size.ws_row = 24;
  size.ws_col = static_cast<unsigned short>(columns);
  int terminal = -1;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, &size);
  if (child == 0) {
    Progress progress("a title that is long for what it says", 2, "of a unit that is long too/s");
    progress.finish();  // of no line yet
    progress.update(1, 1, "and a status");
    progress.update(2, 2, "and a status");
    progress.finish();
    progress.finish();
    fflush(stdout);
    _exit(0);
  }
  std::string output;
  std::array<char, 4096> buffer;
  for (ssize_t n; (n = read(terminal, buffer.data(), buffer.size())) > 0;)
    output.append(buffer.data(), static_cast<size_t>(n));
  waitpid(child, nullptr, 0);
  close(terminal);
  return output;
}

TEST(Progress, ATerminalSeesNoLineThatWraps) {
  for (const int columns : {0, 20, 40, 80, 200}) {
    const size_t width = columns == 0 ? 80 : static_cast<size_t>(columns);
    const std::string output = shown_on_terminal(columns);
    EXPECT_EQ(std::ranges::count(output, '\n'), 1);
    std::istringstream lines(output);
    int shown = 0;
    for (std::string line; std::getline(lines, line, '\r');) {
      const std::string text = line.substr(0, line.find('\x1b'));
      if (!text.starts_with("a title")) continue;
      EXPECT_LT(text.size(), width) << text;
      ++shown;
    }
    EXPECT_EQ(shown, 2) << columns;
  }
}

TEST(Progress, RatesAreOfTheLastSeconds) {
  RecentRate rate(100);  // steps that another process made
  rate.at(10, 110, 1000);
  EXPECT_DOUBLE_EQ(rate.per_second(), 100);
  EXPECT_DOUBLE_EQ(rate.seconds_for(7), 7);
  for (int i = 1; i <= 100; ++i) rate.at(10 + i * 0.1, 110 + i, 1000 + 50 * i);  // ten times faster
  EXPECT_NEAR(rate.per_second(), 500, 1e-6);
  EXPECT_NEAR(rate.seconds_for(7), 0.7, 1e-6);
  for (int i = 1; i <= 1000; ++i) rate.at(20 + i * 1e-3, 210 + i, 6000 + i);  // in no time
  EXPECT_NEAR(rate.seconds_for(100), 100 * 5.0 / 1040, 0.1);
}

}  // namespace
}  // namespace plimsoll::train
