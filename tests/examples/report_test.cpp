// The report of a run: there complete or not at all, and nothing else of the user's is touched.
#include "examples/common/report.h"

#include <sys/stat.h>
#include <unistd.h>

#include "tests/data/testing.h"

namespace plimsoll::examples {
namespace {

namespace fs = std::filesystem;
using data::TemporaryFolder;

int64_t files_in(const TemporaryFolder& dir) {
  return std::distance(fs::directory_iterator(dir.path()), fs::directory_iterator());
}

void report(const std::string& path) { ReportFile(path).write({{"loss", 1}}); }

const std::string kText = "{\n  \"loss\": 1\n}\n";

TEST(Report, IsWrittenWholeAndLeavesNothingElse) {
  const TemporaryFolder dir;
  const std::string path = dir.text("run.json");
  {
    const ReportFile file(path);
    EXPECT_EQ(files_in(dir), 0);  // a run that is interrupted now leaves nothing behind
    file.write({{"loss", 1}});
  }
  EXPECT_EQ(data::read_text(path), kText);
  dir.write("run.json", "old");
  report(path);
  EXPECT_EQ(data::read_text(path), kText);
  EXPECT_EQ(files_in(dir), 1);
}

TEST(Report, FilesOfTheUserAreNeverWrittenThrough) {
  const TemporaryFolder dir;
  dir.write("precious", "mine");
  const std::string stem = cat("run.json.", getpid(), ".");  // the names a report takes meanwhile
  dir.write(stem + "tmp", "mine");
  dir.write(stem + "0.tmp", "mine");
  fs::create_symlink(dir / "precious", dir / (stem + "1.tmp"));
  report(dir.text("run.json"));
  EXPECT_EQ(data::read_text(dir / "run.json"), kText);
  for (const std::string& name : {std::string("precious"), stem + "tmp", stem + "0.tmp"})
    EXPECT_EQ(data::read_text(dir / name), "mine");
  EXPECT_TRUE(fs::is_symlink(dir / (stem + "1.tmp")));
  EXPECT_EQ(files_in(dir), 5);
}

TEST(Report, ALinkStandsForItsTarget) {
  const TemporaryFolder dir;
  fs::create_directory(dir / "there");
  dir.write("there/old.json", "old");
  for (const char* target : {"old.json", "new.json"}) {
    const fs::path link = dir / (std::string("to_") + target);
    fs::create_symlink(fs::path("there") / target, link);
    report(link.string());
    EXPECT_TRUE(fs::is_symlink(link));
    EXPECT_FALSE(fs::is_symlink(dir / "there" / target));
    EXPECT_EQ(data::read_text(dir / "there" / target), kText);
  }
}

TEST(Report, RefusesWhatIsNoFile) {
  const TemporaryFolder dir;
  fs::create_directory(dir / "folder");
  fs::create_symlink("folder", dir / "to_folder");
  ASSERT_EQ(mkfifo(dir.text("pipe").c_str(), 0600), 0);
  const std::pair<std::string, std::string> refusals[] = {
      {dir.text("folder"), dir.text("folder")},
      {dir.text("pipe"), dir.text("pipe")},
      {dir.text("to_folder"), dir.text("folder")},
      {"/dev/null", "/dev/null"},
      {".", "."}};
  for (const auto& [path, named] : refusals)
    EXPECT_EQ(error_of<UsageError>([path = path] { ReportFile{path}; }),
              "--json: it is there and no regular file: " + named + ". Name another file.");
  EXPECT_EQ(files_in(dir), 3);
}

TEST(Report, RefusesAFolderThatTakesNoFiles) {
  const TemporaryFolder dir;
  dir.write("file", "mine");
  const std::pair<std::string, std::string> refusals[] = {
      {dir.text("none/run.json"), "No such file or directory"},
      {dir.text("file/run.json"), "Not a directory"},
      {dir.text(std::string(250, 'x')), "File name too long"}};
  for (const auto& [path, reason] : refusals)
    EXPECT_EQ(error_of<UsageError>([path = path] { ReportFile{path}; }),
              "--json: the file cannot be written: " + path + " (" + reason +
                  "). Look at its folder and the space on the disk.");
  // Nobody writes here, the administrator included.
  EXPECT_THROW(ReportFile{"/proc/run.json"}, UsageError);
  fs::create_symlink("b", dir / "a");
  fs::create_symlink("a", dir / "b");
  EXPECT_EQ(error_of<UsageError>([&] { ReportFile{dir.text("a")}; }),
            "--json: its links lead nowhere: " + dir.text("a") + ". Name another file.");
}

TEST(Report, AFolderThatIsGoneAtTheEndIsADataError) {
  const TemporaryFolder dir;
  fs::create_directory(dir / "folder");
  const std::string path = dir.text("folder/run.json");
  const ReportFile file(path);
  fs::remove(dir / "folder");
  EXPECT_EQ(error_of<DataError>([&] { file.write({}); }),
            "--json: the file cannot be written: " + path +
                " (No such file or directory). Look at its folder and the space on the disk.");
  const std::string taken = dir.text("run.json");
  const ReportFile other(taken);
  fs::create_directory(taken);
  EXPECT_EQ(error_of<DataError>([&] { other.write({}); }),
            "--json: it is there and no regular file: " + taken + ". Name another file.");
  EXPECT_EQ(files_in(dir), 1);
}

}  // namespace
}  // namespace plimsoll::examples
