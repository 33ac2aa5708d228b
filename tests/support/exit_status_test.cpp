// What a test program tells CTest by its status (tests/support/main.cpp): the probes skip or fail
// only when this program runs itself.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "tests/support/shell.h"

namespace plimsoll {
namespace {

bool probed() { return std::getenv("PLIMSOLL_PROBE") != nullptr; }

TEST(Probe, Passes) {}
TEST(Probe, Skips) {
  if (probed()) GTEST_SKIP() << "cuda: there is no GPU";
}
TEST(Probe, Fails) { EXPECT_FALSE(probed()); }

TEST(ExitStatus, TellsWhatWasSkippedFromWhatFailed) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe");
  const auto status = [&](const std::string& probes) {
    return run_shell("PLIMSOLL_PROBE=1 '" + program + "' --gtest_filter='" + probes + "'").code;
  };
  EXPECT_EQ(status("Probe.Passes"), 0);
  EXPECT_EQ(status("Probe.Skips"), 77);
  EXPECT_EQ(status("Probe.Skips:Probe.Passes"), 0);
  EXPECT_EQ(status("Probe.Skips:Probe.Fails"), 1);
  EXPECT_EQ(status("Probe.Fails"), 1);
}

}  // namespace
}  // namespace plimsoll
