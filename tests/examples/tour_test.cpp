// docs/tour as a reader follows it: every command of its pages prints what the page shows, the
// exercises are not solved, and their solutions are.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "tests/examples/testing.h"

namespace plimsoll::examples {
namespace {

namespace fs = std::filesystem;
const fs::path kTour = fs::path(PLIMSOLL_SOURCE_DIR) / "docs/tour";

// A fenced block that begins with `$ build/bin/COMMAND`.
struct Shown {
  fs::path page;
  std::string command, output;
};

std::vector<Shown> shown_commands() {
  const std::string prompt = "$ build/bin/";
  std::vector<Shown> all;
  for (const auto& entry : fs::directory_iterator(kTour)) {
    if (entry.path().extension() != ".md") continue;
    std::ifstream page(entry.path());
    for (std::string line; std::getline(page, line);) {
      if (!line.starts_with("```")) continue;
      std::vector<std::string> block;
      while (std::getline(page, line) && line != "```") block.push_back(line);
      if (block.empty() || !block[0].starts_with(prompt)) continue;
      Shown shown{entry.path().filename(), block[0].substr(prompt.size()), ""};
      for (size_t i = 1; i < block.size(); ++i) shown.output += block[i] + "\n";
      all.push_back(std::move(shown));
    }
  }
  return all;
}

// Pages have no blanks at the ends of lines.
std::string without_trailing_blanks(const std::string& text) {
  std::istringstream lines(text);
  std::string result;
  for (std::string line; std::getline(lines, line);)
    result += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  return result;
}

TEST(Tour, EveryCommandPrintsWhatItsPageShows) {
  std::set<std::string> chapters;
  for (const Shown& shown : shown_commands()) {
    const Outcome outcome = run(shown.command);
    EXPECT_EQ(without_trailing_blanks(outcome.output), shown.output)
        << shown.page << ": " << shown.command;
    if (shown.command.starts_with("tour ")) chapters.insert(shown.command);
  }
  const Outcome list = run("tour");
  EXPECT_EQ(list.code, 0);
  EXPECT_EQ(std::ranges::count(list.output, '\n'), std::ssize(chapters)) << list.output;
}

TEST(Tour, RefusesAChapterThatIsNotThere) {
  const Outcome outcome = run("tour 12");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.output.find("tour: there is no such chapter: 12."), std::string::npos)
      << outcome.output;
}

TEST(Tour, ExercisesAreNotSolvedAndSolutionsAre) {
  for (const char* number : {"1", "2", "3"}) {
    const std::string begin = std::string("exercise ") + number;
    const Outcome open = run(begin);
    EXPECT_EQ(open.code, 1) << open.output;
    EXPECT_TRUE(open.output.starts_with(begin + ": not solved yet: ")) << open.output;
    const Outcome solved = run(std::string("exercise_solved ") + number);
    EXPECT_EQ(solved.code, 0) << solved.output;
    EXPECT_TRUE(solved.output.starts_with(begin + ": solved: ")) << solved.output;
  }
  EXPECT_EQ(run("exercise 4").code, 2);
}

}  // namespace
}  // namespace plimsoll::examples
