// The architecture, enforced: who may include whom, file lengths, and that only tests know Eigen.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>

#include "tests/support/python.h"

namespace {

namespace fs = std::filesystem;
const fs::path kRoot = PLIMSOLL_SOURCE_DIR;

// Each room and what it may include besides itself: rooms, with all that lies in them, or one file.
const std::map<std::string, std::set<std::string>> kAllowed = {
    {"core/base", {}},
    {"core/tensor", {"core/base"}},
    {"core/cpu", {"core/base", "core/tensor", "core/engine/call.h"}},
    {"core/cuda", {"core/base", "core/tensor", "core/engine/call.h", "core/ranks"}},
    {"core/cuda/seam",
     {"core/base", "core/tensor", "core/engine/call.h", "core/cpu", "core/ranks"}},
    {"core/engine", {"core/base", "core/tensor", "core/cpu", "core/cuda/seam"}},
    {"core/ranks", {"core/base", "core/tensor"}},
    {"core/mpi", {"core/base", "core/ranks"}},
    {"ops", {"core"}},
    {"memory/pool", {"core"}},
    {"memory/layout", {"core"}},
    {"memory/passes", {"core", "memory/layout"}},
    {"memory/recompute", {"core", "memory/layout", "memory/pool"}},
    {"memory/step", {"core", "memory"}},  // it alone puts passes together
    {"data", {"core"}},
    {"formats", {"core", "data"}},
    {"autograd", {"core", "ops", "memory"}},
    {"optim", {"core", "ops", "memory", "autograd"}},
    {"nn", {"core", "ops", "memory", "autograd"}},
    {"nn/published", {"core", "ops", "memory", "autograd", "nn", "data", "formats"}},
    {"train", {"core", "ops", "memory", "autograd", "optim", "nn", "data", "formats"}},
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
      if (!std::set<std::string>{".h", ".cpp", ".cu", ".cuh"}.contains(extension)) continue;
      Source source{fs::relative(entry.path(), kRoot), folder, {}};
      std::ifstream in(entry.path());
      for (std::string line; std::getline(in, line);) source.lines.push_back(line);
      sources.push_back(std::move(source));
    }
  }
  return sources;
}

bool lies_in(const std::string& path, const std::string& room) {
  return path == room || path.starts_with(room + "/");
}

// The innermost room that a file lies in; nullptr: none has rules.
const std::pair<const std::string, std::set<std::string>>* room_of(const fs::path& path) {
  const std::pair<const std::string, std::set<std::string>>* innermost = nullptr;
  for (const auto& room : kAllowed)
    if (lies_in(path, room.first) && (!innermost || room.first.size() > innermost->first.size()))
      innermost = &room;
  return innermost;
}

// The project's own files that a line includes; empty: none.
std::string included(const std::string& line) {
  static const std::regex include(R"(^\s*#include\s+\"([^\"]+/[^\"]+)\")");
  std::smatch match;
  return std::regex_search(line, match, include) ? match[1].str() : "";
}

TEST(Architecture, RoomsIncludeOnlyWhatTheyMayKnow) {
  std::set<std::string> seen;
  for (const Source& source : all_sources()) {
    const auto* room = room_of(source.path);
    if (!room || source.is_test()) continue;
    for (const std::string& line : source.lines) {
      EXPECT_FALSE(line.find("\"plimsoll.h\"") != std::string::npos && source.folder != "examples")
          << source.path << " includes everything";
      const std::string path = included(line);
      if (path.empty()) continue;
      seen.insert(room->first);
      const bool known = lies_in(path, room->first) ||
                         std::ranges::any_of(room->second, [&](const std::string& allowed) {
                           return lies_in(path, allowed);
                         });
      EXPECT_TRUE(known) << source.path << " may not include " << path;
    }
  }
  EXPECT_EQ(seen.size(), kAllowed.size()) << "a room was not found";
}

// What lies in ops/FAMILY/common is for that family; what several share lies in ops/common.
TEST(Architecture, FamiliesOfOpsKeepTheirCommonThingsToThemselves) {
  static const std::regex common(R"(^(ops/[a-z_]+)/common/)");
  size_t seen = 0;
  for (const Source& source : all_sources())
    for (const std::string& line : source.lines) {
      const std::string path = included(line);
      std::smatch match;
      if (!std::regex_search(path, match, common) || source.is_test()) continue;
      ++seen;
      EXPECT_TRUE(lies_in(source.path, match[1])) << source.path << " includes " << path;
    }
  EXPECT_GT(seen, 10U) << "the families were not found";
}

// A folder is read in one look. Those of ops' families hold ops, one folder each.
TEST(Architecture, NoFolderHoldsMoreThan30Files) {
  std::map<fs::path, int> files;
  for (const Source& source : all_sources()) ++files[source.path.parent_path()];
  EXPECT_GT(files.size(), 50U);
  for (const auto& [folder, count] : files) EXPECT_LE(count, 30) << folder;
}

TEST(Architecture, OnlyTestsIncludeEigen) {
  for (const Source& source : all_sources())
    for (const std::string& line : source.lines)
      EXPECT_TRUE(!line.starts_with("#include <Eigen") || source.folder == "tests") << source.path;
}

// A build without MPI has everything else: core/ranks/mpi.h.
TEST(Architecture, OnlyTheLibraryForItIncludesMpi) {
  size_t seen = 0;
  for (const Source& source : all_sources())
    for (const std::string& line : source.lines) {
      if (!line.starts_with("#include <mpi")) continue;
      ++seen;
      EXPECT_TRUE(lies_in(source.path, "core/mpi")) << source.path;
    }
  EXPECT_GT(seen, 0U) << "core/mpi was not found";
}

// Whoever else differs by device asks core/cuda/seam/cuda.h.
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
      EXPECT_TRUE(pool) << source.path << ": " << line;
    }
  }
  EXPECT_GT(named, 0U) << "the pool was not found";
}

TEST(Architecture, FilesAreShort) {
  for (const Source& source : all_sources()) EXPECT_LE(source.lines.size(), 400U) << source.path;
}

TEST(Architecture, TheWayOfAStepIsThere) {
  NEEDS_PYTHON("subprocess");
  if (plimsoll::run_shell("git -C '" PLIMSOLL_SOURCE_DIR "' ls-files --error-unmatch README.md")
          .code != 0)
    GTEST_SKIP() << "this is no checkout of git, whose files tools/house.py counts";
  const auto house = plimsoll::python::run("../tools/house.py", {});
  EXPECT_EQ(house.code, 0) << house.output;
}

TEST(Architecture, EveryFileOpensWithItsContractOrIsExplainedByItsHeader) {
  for (const Source& source : all_sources()) {
    if (source.path.extension() != ".h" && source.path.extension() != ".cuh") continue;
    ASSERT_FALSE(source.lines.empty()) << source.path;
    EXPECT_TRUE(source.lines[0].starts_with("//")) << source.path;
  }
}

}  // namespace
