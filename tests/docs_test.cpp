// The documents show code as it stands in the tree: a fenced block whose first line names a file
// after the language (```cpp ops/pointwise/relu/relu.h) holds that file, to the last byte. The paths
// that they name exist, and their lines are as short as those of the code.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <vector>

namespace {

namespace fs = std::filesystem;
const fs::path kRoot = PLIMSOLL_SOURCE_DIR;

std::string read(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(kRoot / path).rdbuf();
  return text.str();
}

std::vector<fs::path> all_documents() {
  std::vector<fs::path> documents{"README.md"};
  for (const auto& entry : fs::directory_iterator(kRoot / "docs"))
    if (entry.path().extension() == ".md") documents.push_back(fs::relative(entry.path(), kRoot));
  return documents;
}

void expect_listings_equal_files(const fs::path& document, int at_least) {
  std::istringstream lines(read(document));
  int listings = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("```")) continue;
    const size_t space = line.find(' ');
    const std::string path = space == std::string::npos ? "" : line.substr(space + 1);
    std::string block;
    while (std::getline(lines, line) && line != "```") block += line + "\n";
    if (path.empty()) continue;
    EXPECT_EQ(block, read(path)) << document << " shows " << path;
    ++listings;
  }
  EXPECT_GE(listings, at_least) << document;
}

TEST(Docs, ListingsEqualTheFiles) {
  expect_listings_equal_files("README.md", 2);
  expect_listings_equal_files("docs/adding-an-op.md", 5);
  expect_listings_equal_files("docs/training.md", 1);
}

// `ROOM/...` in prose and tables, where ROOM is a folder of the tree; of `FILE.*` the header.
TEST(Docs, PathsExist) {
  const std::set<std::string> rooms{"autograd", "bench",    "cmake",   "core",   "data",
                                    "docs",     "examples", "formats", "memory", "nn",
                                    "ops",      "optim",    "tests",   "tools",  "train"};
  const std::regex quoted(R"(`([a-z]+)/([^`\s]*))");
  int seen = 0;
  for (const fs::path& document : all_documents()) {
    std::istringstream lines(read(document));
    bool listing = false;
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("```")) listing = !listing;
      if (listing) continue;
      for (std::sregex_iterator at(line.begin(), line.end(), quoted), end; at != end; ++at) {
        if (!rooms.contains((*at)[1])) continue;
        std::string path = (*at)[1].str() + "/" + (*at)[2].str();
        if (path.ends_with(".*")) path.replace(path.size() - 1, 1, "h");
        EXPECT_TRUE(fs::exists(kRoot / path)) << document << " names " << path;
        ++seen;
      }
    }
  }
  EXPECT_GT(seen, 100);
}

// What the README says of the user's program.
TEST(Docs, MnistTakesAtMost60Lines) {
  const std::string program = read("examples/mnist.cpp");
  EXPECT_LE(std::ranges::count(program, '\n'), 60);
  EXPECT_NE(read("README.md").find("```cpp examples/mnist.cpp\n"), std::string::npos);
}

TEST(Docs, ProseStaysWithin100Columns) {
  const std::vector<fs::path> documents = all_documents();
  EXPECT_GT(documents.size(), 8U);
  for (const fs::path& document : documents) {
    std::istringstream lines(read(document));
    bool listing = false;
    int number = 0;
    for (std::string line; std::getline(lines, line);) {
      ++number;
      if (line.starts_with("```")) listing = !listing;
      if (listing || line.starts_with('|')) continue;  // tables have no other way
      EXPECT_LE(line.size(), 100U) << document << ":" << number;
    }
    EXPECT_GT(number, 20) << document;
  }
}

}  // namespace
