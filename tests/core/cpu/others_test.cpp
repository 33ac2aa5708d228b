// What other programs take of the cores is seen, and what this one takes is not.
#include "core/cpu/others.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

namespace plimsoll {
namespace {

void compute_for(double seconds) {
  const auto begin = std::chrono::steady_clock::now();
  volatile double x = 1;
  while (std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() < seconds)
    x = x * 1.000001;
}

// The least of some, as the machine may be busy besides.
double least_load(double seconds) {
  double least = 1e9;
  for (int i = 0; i < 5; ++i) {
    const OthersLoad others;
    compute_for(seconds);
    least = std::min(least, others.cores());
  }
  return least;
}

TEST(OthersLoad, IsWhatOtherProcessesCompute) {
  if (!std::filesystem::exists("/proc/stat")) GTEST_SKIP() << "this system has no /proc/stat";
  const double before = least_load(0.3);
  const pid_t child = fork();
  if (child == 0) {
    compute_for(30);
    _exit(0);
  }
  const double beside = least_load(0.3);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_GT(beside, 0.3) << before << " before";  // one core of its own, or half of one
}

TEST(OthersLoad, OfNoTimeIsNothing) { EXPECT_EQ(OthersLoad().cores(), 0); }

}  // namespace
}  // namespace plimsoll
