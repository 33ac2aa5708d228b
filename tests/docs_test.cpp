// The documents show code as it stands in the tree: a fenced block whose first line names a file
// after the language (```cpp ops/pointwise/relu/relu.h) holds that file, to the last byte; with a
// word between (```cpp in core/engine/apply.cpp) a part of it, lines as they follow each other
// there, moved to the left together. The paths that they name exist, as do the pages that they link
// to, and their lines are as short as those of the code.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
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
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / "docs"))
    if (entry.path().extension() == ".md") documents.push_back(fs::relative(entry.path(), kRoot));
  return documents;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// Whether `block` is a run of whole lines of `file`, all of them indented by as much more or not at
// all: an excerpt is moved to the left margin.
bool is_part_of(const std::vector<std::string>& block, const std::vector<std::string>& file) {
  for (size_t at = 0; at + block.size() <= file.size(); ++at) {
    const size_t indent = file[at].find_first_not_of(' ');
    if (indent == std::string::npos || file[at].substr(indent) != block[0]) continue;
    const auto equal = [&](const std::string& shown, const std::string& line) {
      return line.empty() ? shown.empty() : line == std::string(indent, ' ') + shown;
    };
    if (std::equal(block.begin(), block.end(), file.begin() + static_cast<std::ptrdiff_t>(at),
                   equal))
      return true;
  }
  return false;
}

struct Listing {
  bool part;  // of the file, not all of it
  std::string path, block;
};

std::vector<Listing> listings_of(const fs::path& document) {
  static const std::regex opening(R"(```\w+ (in )?(\S+))");
  std::vector<Listing> listings;
  std::istringstream lines(read(document));
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("```")) continue;
    std::smatch match;
    const bool names_a_file = std::regex_match(line, match, opening);
    Listing listing{names_a_file && match[1].matched, names_a_file ? match[2].str() : "", ""};
    while (std::getline(lines, line) && line != "```") listing.block += line + "\n";
    if (names_a_file) listings.push_back(std::move(listing));
  }
  return listings;
}

TEST(Docs, ListingsEqualTheFiles) {
  std::map<fs::path, int> whole, parts;
  for (const fs::path& document : all_documents())
    for (const Listing& listing : listings_of(document)) {
      ASSERT_TRUE(fs::exists(kRoot / listing.path)) << document << " shows " << listing.path;
      const std::string file = read(listing.path);
      if (listing.part)
        EXPECT_TRUE(is_part_of(lines_of(listing.block), lines_of(file)))
            << document << ": " << listing.path << " has no such lines:\n"
            << listing.block;
      else
        EXPECT_EQ(listing.block, file) << document << " shows " << listing.path;
      ++(listing.part ? parts : whole)[document];
    }
  EXPECT_GE(whole["README.md"], 1);
  EXPECT_GE(whole["docs/adding-an-op.md"], 5);
  EXPECT_GE(whole["docs/training.md"], 1);
  EXPECT_GE(parts.size(), 10U);  // the tour
}

TEST(Docs, APartIsARunOfWholeLines) {
  const std::vector<std::string> file{"void f() {", "  if (x) {", "    g();", "", "  }", "}"};
  EXPECT_TRUE(is_part_of({"if (x) {", "  g();", "", "}"}, file));
  EXPECT_TRUE(is_part_of(file, file));
  EXPECT_FALSE(is_part_of({"if (x) {", "g();"}, file));   // not moved together
  EXPECT_FALSE(is_part_of({"if (x) {", "", "}"}, file));  // a line is left out
  EXPECT_FALSE(is_part_of({"if (y) {"}, file));
}

// [text](path): the file is there. Headings are checked where the site is built (cmake/docs.sh).
TEST(Docs, LinksLeadSomewhere) {
  const std::regex link(R"(\]\(([^)#:\s]*)(#[^)\s]*)?\))");
  int seen = 0;
  for (const fs::path& document : all_documents()) {
    bool listing = false;
    for (const std::string& line : lines_of(read(document))) {
      if (line.starts_with("```")) listing = !listing;
      if (listing) continue;
      for (std::sregex_iterator at(line.begin(), line.end(), link), end; at != end; ++at) {
        const fs::path target = document.parent_path() / (*at)[1].str();
        EXPECT_TRUE((*at)[1].length() == 0 || fs::exists(kRoot / target))
            << document << " links to " << (*at)[1];
        ++seen;
      }
    }
  }
  EXPECT_GT(seen, 40);
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

// What docs/using.md says of the user's program.
TEST(Docs, MnistTakesAtMost60Lines) {
  const std::string program = read("examples/mnist.cpp");
  EXPECT_LE(std::ranges::count(program, '\n'), 60);
  EXPECT_NE(read("docs/using.md").find("```cpp examples/mnist.cpp\n"), std::string::npos);
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

// Comments of C++, and all of Python and shell: clang-format keeps the code of C++ short.
TEST(Docs, SourcesStayWithin100Columns) {
  const std::set<std::string> commented{".h", ".cpp", ".cu", ".cuh"}, whole{".py", ".sh"};
  int files = 0;
  for (const char* room : {"autograd", "bench", "cmake", "core", "data", "examples", "formats",
                           "memory", "nn", "ops", "optim", "tests", "tools", "train"})
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / room)) {
      const std::string type = entry.path().extension().string();
      if (!commented.contains(type) && !whole.contains(type)) continue;
      ++files;
      int number = 0;
      for (const std::string& line : lines_of(read(entry.path()))) {
        ++number;
        const size_t begin = line.find_first_not_of(' ');
        const bool comment = begin != line.npos && line.compare(begin, 2, "//") == 0;
        const auto columns =
            std::ranges::count_if(line, [](char c) { return (c & 0xc0) != 0x80; });  // of UTF-8
        EXPECT_TRUE(columns <= 100 || !(comment || whole.contains(type)))
            << entry.path() << ":" << number;
      }
    }
  EXPECT_GT(files, 900);
}

}  // namespace
