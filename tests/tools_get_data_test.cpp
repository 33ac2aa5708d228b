// tools/get_data.sh as its users run it, against a local folder instead of the network; and its
// functions, on files made here: transfers that go wrong, archives that are not complete.
#include <cstdlib>

#include "tests/data_testing.h"
#include "tests/shell.h"

namespace plimsoll::data {
namespace {

namespace fs = std::filesystem;

const std::string kScript = cat("'", PLIMSOLL_SOURCE_DIR, "/tools/get_data.sh'");
constexpr const char* kAbcSha256 =  // FIPS 180-4, example of one block
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

Outcome get_data(const std::string& arguments) { return run_shell(kScript + " " + arguments); }

// One of the script's functions, with these arguments.
Outcome call(const std::vector<std::string>& words) {
  std::string command = ". " + kScript + ";";
  for (const std::string& word : words) command += " \"" + word + "\"";
  const TemporaryFolder dir;
  return run_shell("bash '" + dir.write("call.sh", command).string() + "'");
}

Outcome fetch_abc(const std::string& base, const fs::path& to) {
  return call({"fetch", "abc.txt", "3", kAbcSha256, base, to.string()});
}

TEST(ToolsGetData, WrongUsageExitsWith2) {
  const TemporaryFolder dir;
  const std::string out = " --out " + dir.text("out");
  for (const std::string& arguments :
       std::vector<std::string>{"", "mnist", "imagenet" + out, "mnist --out", "mnist fashion" + out,
                                "mnist -x" + out, "mnist --base" + out}) {
    const Outcome outcome = get_data(arguments);
    EXPECT_EQ(outcome.code, 2) << arguments;
    EXPECT_TRUE(outcome.output.starts_with("get_data: ")) << outcome.output;
    EXPECT_TRUE(
        outcome.output.ends_with(" Run tools/get_data.sh DATASET --out FOLDER [--base ADDRESS].\n"))
        << outcome.output;
  }
  EXPECT_FALSE(fs::exists(dir / "out"));
  const Outcome help = get_data("--help");
  EXPECT_EQ(help.code, 0);
  EXPECT_TRUE(help.output.starts_with("Fetches the datasets")) << help.output;
  EXPECT_TRUE(help.output.ends_with("could not be fetched.\n")) << help.output;
}

TEST(ToolsGetData, AMissingOrWrongFileExitsWith3AndLeavesNothing) {
  const TemporaryFolder dir;
  const std::string arguments = " --out " + dir.text("out") + " --base file://" + dir.text("there");
  for (const std::string name : {"mnist", "fashion", "cifar10", "tinyshakespeare"}) {
    const Outcome outcome = get_data(name + arguments);
    EXPECT_EQ(outcome.code, 3);
    EXPECT_NE(outcome.output.find("get_data: the transfer failed: file://"), std::string::npos)
        << outcome.output;
  }
  fs::create_directory(dir / "there");
  dir.write("there/input.txt", std::string(1'115'394, 'x'));  // the right size
  const Outcome outcome = get_data("tinyshakespeare" + arguments);
  EXPECT_EQ(outcome.code, 3);
  EXPECT_NE(outcome.output.find("get_data: the checksum is wrong: file://"), std::string::npos)
      << outcome.output;
  EXPECT_TRUE(fs::is_empty(dir / "out"));
}

TEST(ToolsGetData, FetchesWhatIsPublishedAndKeepsIt) {
  const char* data = std::getenv("PLIMSOLL_DATA");
  if (!data) GTEST_SKIP() << "set PLIMSOLL_DATA to the folder that holds mnist/ and others";
  const TemporaryFolder dir;
  const std::pair<std::string, std::string> folders[] = {
      {"mnist", "mnist"}, {"fashion", "fashion-mnist"}, {"tinyshakespeare", "tinyshakespeare"}};
  for (const auto& [name, folder] : folders) {
    const std::string out = " --out " + dir.text(name);
    const Outcome first = get_data(cat(name, out, " --base file://", data, "/", folder));
    EXPECT_EQ(first.code, 0) << first.output;
    EXPECT_NE(first.output.find("done: train with --data "), std::string::npos) << first.output;
    // A second time nothing is fetched: the address leads nowhere.
    const Outcome again = get_data(name + out + " --base file:///no/such/folder");
    EXPECT_EQ(again.code, 0) << again.output;
    EXPECT_NE(again.output.find(": already there"), std::string::npos) << again.output;
  }
}

TEST(ToolsGetData, FetchesAFileFromAnAddressOrAFolder) {
  const TemporaryFolder there, here;
  there.write("abc.txt", "abc");
  const fs::path folder = there / "with space, % and #";
  fs::create_directory(folder);
  there.write("with space, % and #/abc.txt", "abc");
  here.write("abc.txt", "old");
  for (const std::string& base : {"file://" + there.path().string(), there.path().string() + "/",
                                  folder.string(), fs::relative(folder).string()}) {
    const Outcome outcome = fetch_abc(base, here / "new folder/in it");
    EXPECT_EQ(outcome.code, 0) << outcome.output;
    EXPECT_EQ(read_text(here / "new folder/in it/abc.txt"), "abc") << base;
    EXPECT_EQ(names_in(here / "new folder/in it"), std::vector<std::string>{"abc.txt"});
    fs::remove_all(here / "new folder");
  }
  EXPECT_EQ(fetch_abc(there.path().string(), here.path()).code, 0);
  EXPECT_EQ(read_text(here / "abc.txt"), "abc");  // a wrong one is replaced
}

TEST(ToolsGetData, ABadTransferLeavesNothingAndChangesNothing) {
  const TemporaryFolder there, here;
  here.write("abc.txt", "old");
  const std::string base = "file://" + there.path().string(), url = base + "/abc.txt";
  const auto expect = [&](const Outcome& outcome, const std::string& sentence) {
    EXPECT_EQ(outcome.code, 3);
    EXPECT_TRUE(outcome.output.starts_with("get_data: " + sentence)) << outcome.output;
    EXPECT_TRUE(outcome.output.ends_with(".\n")) << outcome.output;
    EXPECT_EQ(read_text(here / "abc.txt"), "old");
    EXPECT_EQ(names_in(here.path()), std::vector<std::string>{"abc.txt"});
  };
  expect(fetch_abc(base, here.path()), "the transfer failed: " + url + ": ");
  expect(fetch_abc("ftp://localhost", here.path()), "the transfer failed: ftp://localhost/");
  expect(fetch_abc(there.text("none"), here.path()),
         "--base is neither an address nor a folder: " + there.text("none") + ". ");
  for (const char* content : {"ab", ""}) {
    there.write("abc.txt", content);
    expect(fetch_abc(base, here.path()), "the file has another size than published: " + url +
                                             " has " + cat(std::strlen(content)) +
                                             " bytes, published are 3. Try again, or ");
  }
  there.write("abc.txt", "abcd");
  expect(fetch_abc(there.path().string(), here.path()), "the file has another size than published");
  there.write("abc.txt", "abd");
  expect(fetch_abc(base, here.path()), "the checksum is wrong: " + url + " has SHA-256 ");
}

TEST(ToolsGetData, ANameThatIsTakenIsRefused) {
  const TemporaryFolder there, here;
  there.write("abc.txt", "abc");
  fs::create_directories(here / "abc.txt/inside");
  const Outcome outcome = fetch_abc(there.path().string(), here.path());
  EXPECT_EQ(outcome.code, 3);
  EXPECT_EQ(outcome.output, "get_data: the name is a folder's: " + here.text("abc.txt") +
                                ". Move it away, or choose another --out.\n");
  EXPECT_EQ(names_in(here / "abc.txt"), std::vector<std::string>{"inside"});
}

// An archive of x/a.bin with "aa" and x/b.bin with "bbb", and of more.
class ToolsGetDataArchive : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(dir_ / "x");
    dir_.write("x/a.bin", "aa");
    dir_.write("x/b.bin", "bbb");
    dir_.write("x/readme.html", "text");
    ASSERT_EQ(run_shell("tar -czf " + path_ + " -C " + dir_.path().string() + " x").code, 0);
  }
  Outcome unpack(const std::string& members) const {
    return call({"unpack", path_, members, out_.path().string()});
  }

  const TemporaryFolder dir_, out_;
  const std::string path_ = out_.text("archive.tar.gz");
};

TEST_F(ToolsGetDataArchive, ItsMembersAreTakenOut) {
  const Outcome outcome = unpack("x/a.bin 2\nx/b.bin 3\n");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_EQ(read_text(out_ / "a.bin"), "aa");
  EXPECT_EQ(read_text(out_ / "b.bin"), "bbb");
  EXPECT_EQ(names_in(out_.path()), (std::vector<std::string>{"a.bin", "archive.tar.gz", "b.bin"}));
}

TEST_F(ToolsGetDataArchive, ABadOneLeavesNothing) {
  const auto expect = [&](const std::string& members, const std::string& sentence) {
    const Outcome outcome = unpack(members);
    EXPECT_EQ(outcome.code, 3);
    EXPECT_EQ(outcome.output, "get_data: " + sentence + " Fetch it again.\n");
    EXPECT_EQ(names_in(out_.path()), std::vector<std::string>{"archive.tar.gz"});
  };
  expect("x/a.bin 2\nx/c.bin 3",
         "the archive cannot be read, or lacks a file: x/c.bin in " + path_ + ".");
  expect("x/a.bin 2\nx/b.bin 4", "a file of the archive has the wrong size: x/b.bin in " + path_ +
                                     " has 3 bytes, published are 4.");
  fs::resize_file(path_, fs::file_size(path_) / 2);
  expect("x/a.bin 2", "the archive cannot be read, or lacks a file: x/a.bin in " + path_ + ".");
  out_.write("archive.tar.gz", std::string("not an archive"));
  expect("x/a.bin 2", "the archive cannot be read, or lacks a file: x/a.bin in " + path_ + ".");
}

// The whole way of a dataset that is an archive, with another table.
TEST_F(ToolsGetDataArchive, IsFetchedAndUnpackedOnceAndAgainWhereAFileIsMissing) {
  const std::string sum = run_shell("sha256sum < " + path_).output.substr(0, 64);
  const std::string script = cat(
      ". ", kScript, "; describe() { base=x prefix=cifar10: suffix= members='x/a.bin 2' files='",
      "archive.tar.gz ", fs::file_size(path_), " ", sum, "'; }; get t '", dir_.text("out"), "' ");
  const auto get = [&](const std::string& base) {
    dir_.write("get.sh", script + "'" + base + "'");
    return run_shell("bash " + dir_.text("get.sh"));
  };
  const std::string done = "done: train with --data cifar10:" + dir_.text("out") + "\n";
  const Outcome first = get(out_.path().string());
  EXPECT_EQ(first.code, 0) << first.output;
  EXPECT_TRUE(first.output.ends_with("archive.tar.gz: unpacking\n" + done)) << first.output;
  EXPECT_EQ(get("nowhere").output, "archive.tar.gz: already there\n" + done);
  fs::remove(dir_ / "out/a.bin");
  EXPECT_EQ(get("nowhere").output,
            "archive.tar.gz: already there\narchive.tar.gz: unpacking\n" + done);
  EXPECT_EQ(read_text(dir_ / "out/a.bin"), "aa");
}

}  // namespace
}  // namespace plimsoll::data
