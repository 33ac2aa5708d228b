// The architecture, enforced: who may include whom, file lengths, and that only tests know Eigen.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>

namespace {

namespace fs = std::filesystem;
const fs::path kRoot = PLIMSOLL_SOURCE_DIR;

// Each folder and the folders it may include besides itself.
const std::map<std::string, std::set<std::string>> kAllowed = {
    {"core", {}},
    {"ops", {"core"}},
    {"memory", {"core"}},
    {"data", {"core"}},
    {"formats", {"core", "data"}},
    {"autograd", {"core", "ops", "memory"}},
    {"optim", {"core", "ops", "memory", "autograd"}},
    {"nn", {"core", "ops", "memory", "autograd"}},
    {"train", {"core", "memory", "data", "formats"}},
    {"examples", {"core", "ops", "memory", "autograd", "optim", "nn", "data", "formats", "train"}},
    {"tools", {"core", "memory", "data", "examples"}},
};
const std::set<std::string> kFolders = {"core",  "ops",   "memory",  "data",  "autograd",
                                        "optim", "nn",    "formats", "train", "examples",
                                        "tools", "tests", "bench"};

struct Source {
  fs::path path;       // relative to the root
  std::string folder;  // its first part
  std::vector<std::string> lines;
  bool is_test() const { return path.stem().string().ends_with("_test"); }
};

std::vector<Source> all_sources() {
  std::vector<Source> sources;
  for (const std::string& folder : kFolders) {
    if (!fs::exists(kRoot / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
      const std::string extension = entry.path().extension();
      if (extension != ".h" && extension != ".cpp" && extension != ".cu") continue;
      Source source{fs::relative(entry.path(), kRoot), folder, {}};
      std::ifstream in(entry.path());
      for (std::string line; std::getline(in, line);) source.lines.push_back(line);
      sources.push_back(std::move(source));
    }
  }
  return sources;
}

TEST(Architecture, FoldersIncludeOnlyWhatTheyMayKnow) {
  const std::regex include(R"(^\s*#include\s+\"([^/\"]+)/)");
  size_t seen = 0;
  for (const Source& source : all_sources()) {
    const auto allowed = kAllowed.find(source.folder);
    if (allowed == kAllowed.end() || source.is_test()) continue;
    for (const std::string& line : source.lines) {
      EXPECT_FALSE(line.find("\"plimsoll.h\"") != std::string::npos && source.folder != "examples")
          << source.path << " includes everything";
      std::smatch match;
      if (!std::regex_search(line, match, include)) continue;
      ++seen;
      EXPECT_TRUE(match[1] == source.folder || allowed->second.contains(match[1]))
          << source.path << " may not include " << match[1] << ": " << line;
    }
  }
  EXPECT_GT(seen, 100U) << "the sources were not found";
}

TEST(Architecture, OnlyTestsIncludeEigen) {
  for (const Source& source : all_sources())
    for (const std::string& line : source.lines)
      EXPECT_TRUE(!line.starts_with("#include <Eigen") || source.folder == "tests") << source.path;
}

// Whoever else differs by device asks core/cuda.h.
TEST(Architecture, DevicesAreNamedByThePoolAlone) {
  const std::set<std::string> folders{"autograd", "memory", "optim"};
  size_t named = 0;
  for (const Source& source : all_sources()) {
    const std::string stem = source.path.stem();
    const bool pool = stem == "pooled_allocator" || stem == "provider";
    for (const std::string& line : source.lines) {
      if (line.find("Device::cuda") == std::string::npos || !folders.contains(source.folder))
        continue;
      named += pool;
      EXPECT_TRUE(pool)
          << source.path << ": " << line;
    }
  }
  EXPECT_GT(named, 0U) << "the pool was not found";
}

TEST(Architecture, FilesAreShort) {
  std::vector<size_t> lengths;
  for (const Source& source : all_sources()) {
    EXPECT_LE(source.lines.size(), 400U) << source.path;
    lengths.push_back(source.lines.size());
  }
  ASSERT_FALSE(lengths.empty());
  std::nth_element(lengths.begin(), lengths.begin() + lengths.size() / 2, lengths.end());
  EXPECT_LE(lengths[lengths.size() / 2], 100U) << "the median file is too long";
}

TEST(Architecture, EveryFileOpensWithItsContractOrIsExplainedByItsHeader) {
  for (const Source& source : all_sources()) {
    if (source.path.extension() != ".h") continue;
    ASSERT_FALSE(source.lines.empty()) << source.path;
    EXPECT_TRUE(source.lines[0].starts_with("//")) << source.path;
  }
}

}  // namespace
