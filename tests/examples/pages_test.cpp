// docs/memory.md shows what programs print: its figures are those of today.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "tests/data/testing.h"
#include "tests/examples/testing.h"

namespace plimsoll::examples {
namespace {

// The lines of the fenced block of docs/memory.md that holds `part`.
std::vector<std::string> block_with(const std::string& part) {
  std::istringstream page(data::read_text(PLIMSOLL_SOURCE_DIR "/docs/memory.md"));
  for (std::string line; std::getline(page, line);) {
    if (!line.starts_with("```")) continue;
    std::vector<std::string> block;
    bool found = false;
    while (std::getline(page, line) && line != "```") {
      found = found || line.find(part) != line.npos;
      block.push_back(line);
    }
    if (found) return block;
  }
  ADD_FAILURE() << "docs/memory.md shows nothing with " << part;
  return {};
}

// Costs decide what is chosen within a budget, and what else the machine does how much a process
// grows. All other bytes are the same in every run.
TEST(ExamplesPages, TheTableOfMemoryIsWhatIsPlannedAndMeasured) {
  const std::vector<std::string> shown = block_with("lenet      128 f32   eager    none");
  const Outcome outcome =
      run("compare_memory --batches 128 --precisions f32 --budgets 75,50,smallest --threads 2 "
          "--steps 1");
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  int rows = 0;
  for (const std::string& row : shown) {
    const bool depends = row.find(" %") != row.npos && row.find("less than") == row.npos;
    const size_t process = shown[0].find("process") - 4;  // where its column begins
    const std::string part = row.substr(0, depends ? shown[0].find("planned") - 4 : process);
    EXPECT_NE(outcome.output.find(part), std::string::npos) << part << "\n" << outcome.output;
    rows += row != shown[0];
  }
  EXPECT_EQ(rows, 21);
}

TEST(ExamplesPages, TheTableOfFit) {
  const std::vector<std::string> shown = block_with("build/bin/fit");
  const std::string prompt = "$ build/bin/";
  std::string command, table;
  for (const std::string& line : shown)
    if (table.empty() && (line.starts_with(prompt) || line.starts_with("    --")))
      command += line.substr(line.starts_with(prompt) ? prompt.size() : 0) + " ";
    else
      table += line + "\n";
  std::ranges::replace(command, '\\', ' ');
  EXPECT_EQ(run(command).output, table);
}

}  // namespace
}  // namespace plimsoll::examples
