// get_data as its users run it, against a local folder instead of the network.
#include <sys/wait.h>

#include <cstdlib>

#include "tests/data_testing.h"

namespace plimsoll::data {
namespace {

const std::filesystem::path kProgram = std::filesystem::path(PLIMSOLL_BIN_DIR) / "get_data";

// The exit code of get_data with these arguments; what it prints is kept in `log`.
int get_data(const TemporaryFolder& log, const std::string& arguments) {
  const std::string command =
      cat("'", kProgram.string(), "' ", arguments, " > '", log.text("log"), "' 2>&1");
  const int status = std::system(command.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class DataGetData : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kProgram))
      GTEST_SKIP() << kProgram << " is not built: configure with -DPLIMSOLL_EXAMPLES=ON";
  }
  std::string log() const { return read_text(dir_ / "log"); }

  TemporaryFolder dir_;
};

TEST_F(DataGetData, WrongUsageExitsWith2) {
  EXPECT_EQ(get_data(dir_, ""), 2);
  EXPECT_EQ(get_data(dir_, "mnist"), 2);
  EXPECT_EQ(get_data(dir_, "imagenet --out " + dir_.text("out")), 2);
  EXPECT_NE(log().find("{mnist,fashion,cifar10,tinyshakespeare}"), std::string::npos) << log();
  EXPECT_FALSE(std::filesystem::exists(dir_ / "out"));
  EXPECT_EQ(get_data(dir_, "--help"), 0);
}

TEST_F(DataGetData, AMissingOrWrongFileExitsWith3AndLeavesNothing) {
  const std::string arguments =
      " --out " + dir_.text("out") + " --base file://" + dir_.text("there");
  for (const std::string name : {"mnist", "fashion", "cifar10", "tinyshakespeare"}) {
    EXPECT_EQ(get_data(dir_, name + arguments), 3);
    EXPECT_NE(log().find("get_data: the transfer failed: file://"), std::string::npos) << log();
  }
  std::filesystem::create_directory(dir_ / "there");
  dir_.write("there/input.txt", std::string(1'115'394, 'x'));  // the right size
  EXPECT_EQ(get_data(dir_, "tinyshakespeare" + arguments), 3);
  EXPECT_NE(log().find("get_data: the checksum is wrong: file://"), std::string::npos) << log();
  EXPECT_TRUE(std::filesystem::is_empty(dir_ / "out"));
}

TEST_F(DataGetData, FetchesWhatIsPublishedAndKeepsIt) {
  const char* data = std::getenv("PLIMSOLL_DATA");
  if (!data) GTEST_SKIP() << "set PLIMSOLL_DATA to the folder that holds mnist/ and others";
  const std::pair<std::string, std::string> folders[] = {
      {"mnist", "mnist"}, {"fashion", "fashion-mnist"}, {"tinyshakespeare", "tinyshakespeare"}};
  for (const auto& [name, folder] : folders) {
    const std::string out = " --out " + dir_.text(name);
    EXPECT_EQ(get_data(dir_, cat(name, out, " --base file://", data, "/", folder)), 0) << log();
    EXPECT_NE(log().find("done: train with --data "), std::string::npos) << log();
    // A second time nothing is fetched: the address leads nowhere.
    EXPECT_EQ(get_data(dir_, name + out + " --base file:///no/such/folder"), 0) << log();
    EXPECT_NE(log().find(": already there"), std::string::npos) << log();
  }
}

}  // namespace
}  // namespace plimsoll::data
